// The explorer. Everything is computed here, from the release that lies in the page.

import { consoleOf } from "./console.js";
import { h } from "./dom.js";
import { Exhibit } from "./exhibit.js";
import { header } from "./header.js";
import { marks } from "./marks.js";
import { modes } from "./modes.js";
import { points } from "./points.js";
import { Pool } from "./pool.js";
import { firstState } from "./state.js";
import { rememberedTheme, wearTheme } from "./theme.js";
import { workbench } from "./workbench.js";

const textOf = (id) => document.getElementById(id).textContent;
const app = document.getElementById("app");

start().catch((problem) => {
  app.append(h("p", { class: "problem" }, "This page needs a browser of 2023 or later."));
  throw problem;
});

async function start() {
  const content = await ScumbleEngine.unpack(textOf("release"), textOf("arrays"));
  const exhibit = new Exhibit(content);
  const state = firstState(exhibit, rememberedTheme());
  wearTheme(state);
  const parts = exhibit.drawable ? sections(exhibit, state, content) : noPicture();
  app.append(header(exhibit, state), h("main", {}, parts), footer());
  window.scumble = consoleOf(exhibit, state);
}

function sections(exhibit, state, content) {
  return [
    workbench(exhibit, state, new Pool(content, exhibit.engine)),
    marks(exhibit, state),
    exhibit.modes.length ? modes(exhibit, state) : null,
    points(exhibit, state),
  ];
}

function noPicture() {
  const reason =
    "This release cannot be drawn here. Its answers need Python: a kernel of someone’s own, or a model whose numbers are no densities. ";
  return h(
    "section",
    {},
    h("h2", {}, "No picture"),
    h("p", {}, reason, "Programs can ask it over HTTP: scumble explore --api."),
  );
}

function footer() {
  const promise =
    "This page holds the whole release and computes every answer by itself. It sends nothing anywhere. Made with scumble.";
  return h("footer", {}, h("p", {}, promise));
}
