// The pictures as files.

import { create } from "d3-selection";
import { button, download, h } from "./dom.js";

export function takeaway(exhibit, state) {
  return h(
    "div",
    { class: "buttons" },
    button("Download picture (PNG)", () => save(exhibit, state, "png")),
    button("Download picture (SVG)", () => save(exhibit, state, "svg")),
  );
}

// All pictures of one question, side by side, in one file.
async function save({ fileName }, { show, charts }, kind) {
  if (!charts.length) return;
  const [text, width, height] = sheet(charts);
  const file = `${fileName}-${show}.${kind}`;
  if (kind === "svg") download(file, text, "image/svg+xml");
  else download(file, await rasterised(text, width, height));
}

const GAP = 20;

function sheet(charts) {
  const width = charts.reduce((sum, chart) => sum + chart.width, GAP * (charts.length - 1));
  const height = Math.max(...charts.map((chart) => chart.height));
  const { paper } = charts[0].palette;
  const whole = create("svg").attr("xmlns", "http://www.w3.org/2000/svg").attr("viewBox", `0 0 ${width} ${height}`);
  whole.attr("width", width).attr("height", height).append("rect").attr("width", width).attr("height", height);
  whole.select("rect").attr("fill", paper);
  let x = 0;
  for (const chart of charts) {
    const part = chart.node.cloneNode(true);
    part.setAttribute("x", x);
    whole.node().append(part);
    x += chart.width + GAP;
  }
  return [new XMLSerializer().serializeToString(whole.node()), width, height];
}

function rasterised(svg, width, height) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * width;
      canvas.height = 2 * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(resolve, "image/png");
    };
    image.onerror = reject;
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}
