// The release's modes as a table, each with a way there.

import { cellTexts } from "./cells.js";
import { button, h, tableOf, unseen } from "./dom.js";
import { number, recordsText } from "./words.js";

export function modes(exhibit, state) {
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
        class: "quiet",
        "aria-label": `Look at mode ${k}${of.length ? ` of ${of[0]}` : ""}`,
      }),
    ];
  });
  const headings = [
    "Mode",
    ...(classes.length ? [exhibit.compared ? "Release" : "Class"] : []),
    ...exhibit.usableNames,
    "Density",
    "95 % interval",
    "Records near",
    unseen("Visit"),
  ];
  return h(
    "section",
    { "aria-labelledby": "modes" },
    h("h2", { id: "modes" }, "Where the records crowd"),
    h(
      "p",
      { class: "hint" },
      "Places from which the density falls in all directions, by more than noise explains. They are pinned in the pictures of densities; faint where they lie off the cut.",
    ),
    tableOf("The modes as a table", headings, rows, { stacked: true }),
  );
}

function visit(state, { point, release }) {
  state.set({
    at: [...point],
    release,
    show: "density",
    here: { x: point[state.x], y: state.y === null ? null : point[state.y] },
    byKey: true,
  });
  document.getElementById("look").scrollIntoView({ block: "start" });
}
