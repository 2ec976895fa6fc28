// The pictures as files.

import { button, download, h } from "./dom.js";

export function takeaway(exhibit, state) {
  return h(
    "div",
    { class: "buttons" },
    button("Download picture (PNG)", () => save(exhibit, state, "png")),
    button("Download picture (SVG)", () => save(exhibit, state, "svg")),
  );
}

async function save({ fileName }, { show, charts }, kind) {
  for (const [k, chart] of charts.entries()) {
    const text = new XMLSerializer().serializeToString(chart.node);
    const file = `${fileName}-${show}${k ? `-${k + 1}` : ""}.${kind}`;
    if (kind === "svg") download(file, text, "image/svg+xml");
    else download(file, await rasterised(text, chart.width, chart.height));
  }
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
