// The explorer. Everything is computed here, from the release that lies in the page.

import { button, h, tableOf, unseen } from "./dom.js";
import { Pool } from "./drawing.js";
import { cellTexts, Exhibit } from "./exhibit.js";
import { app, footer, headline, start, wholeCard } from "./frame.js";
import { firstState } from "./state.js";
import { rememberedTheme, wearTheme } from "./theme.js";
import { counted, number, recordsText } from "./words.js";
import { workbench } from "./workbench.js";

start(ScumbleEngine.unpack, (content) => {
  const exhibit = new Exhibit(content);
  const state = firstState(exhibit, rememberedTheme());
  wearTheme(state);
  const parts = exhibit.drawable ? sections(exhibit, state, content) : noPicture();
  app.append(header(exhibit, state), h("main", {}, parts), footer());
  window.scumble = consoleOf(exhibit, state);
});

function sections(exhibit, state, content) {
  const bench = workbench(exhibit, state, new Pool(content, exhibit.engine));
  return [bench, exhibit.modes.length ? modes(exhibit, state) : null];
}

function noPicture() {
  const reason =
    "This release cannot be drawn here: a page cannot compute its answers, for a custom kernel or a model without densities. ";
  return h("section", {},
    h("h2", {}, "No picture"),
    h("p", {}, reason, "To query it over HTTP, run scumble explore --api."),
  );
}

// The top of the page: whose release it is, what it promises, and the whole privacy card.

function header(exhibit, state) {
  return h("header", {},
    headline("a private release", exhibit.title, state),
    h("section", { class: "card", "aria-labelledby": "promise" },
      h("h2", { id: "promise" }, "What it promises"),
      (exhibit.compared ?? [exhibit.info]).map((info, k) => promise(info, exhibit.compared ? exhibit.nameOf(k) : null)),
      wholeCard(exhibit.card),
    ),
  );
}

function promise(info, name) {
  const whose = name === null ? null : h("h3", {}, name);
  return h("div", { class: "promise" }, whose, facts(info), h("p", { class: "meaning" }, info.meaning));
}

function facts({ epsilon, delta, count, count_standard_error: error }) {
  return h("dl", { class: "facts" },
    fact("Privacy budget", `ε = ${number(epsilon)}`, delta ? `δ = ${delta.toExponential(0)}` : "δ = 0: no exceptions"),
    fact(
      "Records",
      `about ${counted(count)}`,
      error ? `± ${number(Math.round(1.96 * error) || 1.96 * error)} (95 %)` : "public",
    ),
    fact("Asking", "free", "answers cost no further privacy"),
  );
}

function fact(name, value, note) {
  return h("div", { class: "figure" },
    h("dt", {}, name),
    h("dd", {}, h("strong", {}, value), note && h("span", {}, note)),
  );
}

// For the browser's console: points as lists in the order of the columns; the map as it was last drawn.

function consoleOf(exhibit, state) {
  const tableOf = (points) =>
    exhibit.engine.table(points.length, exhibit.columns.map((_, j) => points.map((point) => point[j])));
  return {
    answers: (points, { release = 0, confidence = 0.95 } = {}) =>
      plain(exhibit.engine.answers(release, tableOf(points), confidence)),
    sure: (points) => Array.from(exhibit.engine.classes(tableOf(points)).least),
    probabilities: (points) => Array.from(exhibit.engine.probabilities(tableOf(points))),
    drawn: () => {
      const { x, y, density } = state.drawn;
      return plain({ x: x.values, y: y.values, density });
    },
  };
}

function plain(found) {
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, Array.from(values)]));
}

// The release's modes as a table, each with a way there.

function modes(exhibit, state) {
  const { classes } = exhibit;
  const seen = {};
  const rows = exhibit.modes.map((mode) => {
    const k = (seen[mode.release] = (seen[mode.release] ?? 0) + 1);
    const of = classes.length ? [classes[mode.release]] : [];
    return [
      String(k),
      ...of,
      ...cellTexts(exhibit, state, mode.point),
      number(mode.density),
      `${number(mode.lower)} to ${number(mode.upper)}`,
      recordsText(...[mode.density, mode.lower, mode.upper].map((share) => share * exhibit.countOf(mode.release))),
      button("Look there", () => visit(state, mode), {
        class: "quiet", "aria-label": `Look at mode ${k}${of.length ? ` of ${of[0]}` : ""}`,
      }),
    ];
  });
  const headings = [
    "Mode",
    ...(classes.length ? [exhibit.compared ? "Release" : "Class"] : []),
    ...exhibit.usable.map((j) => exhibit.columns[j].name),
    "Density",
    "95 % interval",
    "Records near",
    unseen("Visit"),
  ];
  return h("section", { "aria-labelledby": "modes" },
    h("h2", { id: "modes" }, "Where records are densest"),
    h("p", { class: "hint" },
      "Local maxima of the density that noise does not explain. They are pinned in the density maps; faint pins lie off the cut.",
    ),
    tableOf("The modes as a table", headings, rows, { stacked: true }),
  );
}

function visit(state, { point, release }) {
  state.set({
    at: [...point], release, show: "density",
    here: { x: point[state.x], y: state.y === null ? null : point[state.y] },
    byKey: true,
  });
  document.getElementById("look").scrollIntoView({ block: "start" });
}
