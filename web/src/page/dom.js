// Elements, made with text and attributes only: nothing that comes from a release is ever read as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A name that may break after its underscores and dots, rather than anywhere.
export function breakable(name) {
  return name.split(/(?<=[_./-])(?=.)/u).flatMap((part, k) => (k ? [h("wbr"), part] : [part]));
}

export function labeled(text, control, hint = null) {
  return h("label", { class: "field" },
    h("span", { class: "name" }, text),
    control,
    hint && h("span", { class: "hint" }, hint),
  );
}

export function choice(options, chosen, onchange) {
  const select = h("select", { onchange: () => onchange(select.value) });
  for (const [value, text] of options) {
    const option = h("option", { value }, text);
    option.selected = String(value) === String(chosen);
    select.append(option);
  }
  return select;
}

export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

// One of a few, always in sight: radio buttons drawn as a bar.
export function segments(name, legend, options, chosen, onchange) {
  return h("fieldset", { class: "segments" },
    h("legend", {}, legend),
    h("div", { class: "bar" },
      options.map(([value, text]) => {
        const input = h("input", { type: "radio", name, value, onchange: () => onchange(value) });
        input.checked = String(value) === String(chosen);
        return h("label", {}, input, h("span", {}, text));
      }),
    ),
  );
}

// A table with a caption, a row of headings, and cells of text or elements. One that is `stacked` becomes a list of cards
// where the screen is narrow: each cell then says its own heading.
export function tableOf(caption, headings, rows, { numeric = (j) => j > 0, stacked = false, keyed = true } = {}) {
  const heading = (j) => (stacked && typeof headings[j] === "string" ? headings[j] : null);
  const side = (j) => (numeric(j) ? "number" : null);
  const cell = (text, j) =>
    keyed && j === 0
      ? h("th", { scope: "row", class: side(j), "data-heading": heading(j) }, text)
      : h("td", { class: side(j), "data-heading": heading(j) }, text);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: stacked ? "stacked" : null },
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, headings.map((text, j) => h("th", { scope: "col", class: side(j) }, text)))),
      h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map(cell)))),
    ),
  );
}

// What is made when a reader opens it, and kept up to date while it is open.
export function unfolded(text, make) {
  const summary = h("summary", {}, text);
  const node = h("details", { class: "numbers", ontoggle: () => draw() }, summary);
  const draw = () => node.open && node.replaceChildren(summary, ...make());
  return { node, draw };
}

// Where an arrow key leads, right and up; with Shift `wide` steps. Nothing of another key.
export function arrow({ key, shiftKey }, wide) {
  const by = shiftKey ? wide : 1;
  return { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, by], ArrowDown: [0, -by] }[key];
}

const JITTER = 8; // pixels by which a width may change before pictures are made anew

// Calls `draw` when the width of an element changes, at first too.
export function onWidth(node, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(node.clientWidth - width) < JITTER) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
  return node;
}

// What files of a release are called.
export const fileNameOf = (title) =>
  title.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_-]+/gu, "-").slice(0, 60) || "release";

// Rows of cells as a file of CSV.
export function downloadRows(name, rows) {
  const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  download(name, rows.map((cells) => cells.map(quoted).join(",") + "\r\n").join(""), "text/csv");
}

export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// A picture in SVG as one in PNG, with two pixels for each.
export function rasterised(svg, width, height) {
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

// Words for those who hear the page.
export const unseen = (text) => h("span", { class: "unseen" }, text);

// Pictures of a few shapes. Colors are the style sheet's, so they follow the theme.

export function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  put(element, attributes);
  element.append(...children);
  return element;
}

export function put(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

// Appends an element with these attributes to a selection of d3's, and gives its selection.
export function add(parent, tag, attributes) {
  const added = parent.append(tag);
  for (const [name, value] of Object.entries(attributes)) added.attr(name, value);
  return added;
}
