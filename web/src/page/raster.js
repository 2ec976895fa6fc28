// Maps as images: from numbers to colours, a pixel a point.

import { color } from "d3-color";

// One small square a point: y grows upwards. `colour` gives the 24 bits of the point with a number.
export function raster(x, y, colour) {
  const [nx, ny] = [x.values.length, y.values.length];
  const canvas = document.createElement("canvas");
  canvas.width = nx;
  canvas.height = ny;
  const context = canvas.getContext("2d");
  const image = context.createImageData(nx, ny);
  for (let j = 0; j < ny; j++) {
    for (let i = 0; i < nx; i++) {
      const shade = colour(j * nx + i);
      const at = 4 * ((y.numeric ? ny - 1 - j : j) * nx + i);
      image.data[at] = shade >> 16;
      image.data[at + 1] = (shade >> 8) & 255;
      image.data[at + 2] = shade & 255;
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

// The same as the ground of a chart.
export function picture(chart, x, y, colour) {
  const apart = !x.numeric || !y.numeric; // one name is not halfway to the next
  const few = x.values.length * y.values.length < 900;
  chart.back
    .append("image")
    .attr("x", chart.left)
    .attr("y", chart.top)
    .attr("width", chart.width - chart.left - chart.right)
    .attr("height", chart.height - chart.top - chart.bottom)
    .attr("preserveAspectRatio", "none")
    .attr("image-rendering", few || apart ? "pixelated" : "auto")
    .attr("href", raster(x, y, colour).toDataURL());
}

// A scale of colours as a quick look-up: from 0 to 1, to 24 bits.
export function ramp(colour) {
  const table = Int32Array.from({ length: 257 }, (_, k) => packed(colour(k / 256)));
  return (t) => table[t >= 1 ? 256 : t > 0 ? Math.round(256 * t) : 0];
}

export function packed(text) {
  const { r, g, b } = color(text).rgb();
  return (Math.round(r) << 16) | (Math.round(g) << 8) | Math.round(b);
}
