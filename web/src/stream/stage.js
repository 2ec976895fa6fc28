// The chosen picture, large; the line over time at the chosen point; and small pictures of a dozen periods.

import { arrow, button, choice, h, labeled, onWidth, segments, tableOf, unfolded } from "../page/dom.js";
import { paletteOf } from "../page/palette.js";
import { curve, difference, map, overTime, small } from "./pictures.js";
import { CLAIMS, number, RARE } from "../page/words.js";
import { answerText, countText, nameOf, placeText, records, spanText } from "./story.js";

const PANELS = 12;
const HELP = "Click, or use the arrow keys, to choose a point; with Shift in larger steps.";

const sizeOf = (node) => Math.max(260, node.clientWidth);

export function large(story, state) {
  const draw = () => {
    const choice = story.choices[state.choice];
    const span = spanText(story.span(state));
    const title = node.clientWidth < 440 ? "" : span[0].toUpperCase() + span.slice(1); // there is the slider's word
    const label = `${story.y ? "A map" : "A curve"} of records, ${span}.`;
    const options = { width: sizeOf(node), palette: paletteOf(state), title, label };
    const chart = (story.y ? map : curve)(story, story.picture(state), choice, options);
    const { x, y } = story.values(state.here);
    chart.point(x, y);
    chart.node.addEventListener("click", (event) => {
      const place = chart.under(event);
      if (place) state.set({ here: story.nearest(place) });
    });
    node.replaceChildren(h("figure", {}, chart.node));
  };
  const onkeydown = (event) => {
    const move = arrow(event, 5);
    if (!move) return;
    state.set({ here: story.moved(state.here, move) });
    event.preventDefault();
  };
  const node = h("div", {
    class: "large", tabindex: "0", role: "application", "aria-roledescription": "picture",
    "aria-label": `Records near each point. ${HELP}`, onkeydown,
  });
  onWidth(node, draw);
  return { node, draw };
}

export function line(story, state) {
  const draw = () => {
    const title = nameOf(story.choices[state.choice]);
    const label = `${title} near ${placeText(story, state.here)}, over time, with 95 % intervals.`;
    const options = { width: sizeOf(node), palette: paletteOf(state), title, label };
    const chart = overTime(story, story.line(state), options);
    chart.point(story.ends[state.at], null);
    chart.node.addEventListener("click", (event) => {
      const place = chart.under(event);
      if (place) state.set({ at: nearestEnd(story, place.x) });
    });
    node.replaceChildren(h("figure", {}, chart.node));
  };
  const node = h("div", { class: "line" });
  onWidth(node, draw);
  return { node, draw };
}

function nearestEnd({ ends }, period) {
  return ends.reduce((best, end, at) => (Math.abs(end - period) < Math.abs(ends[best] - period) ? at : best), 0);
}

// The current numbers in words.
export function words(story, state) {
  const node = h("div", { class: "words", role: "status", "aria-live": "polite" });
  const draw = () => {
    const { span, value, interval, doubt } = answerText(story, state);
    node.replaceChildren(
      h("p", { class: "now" }, `${span}: `, h("strong", {}, value), `, ${interval} (95 %). `, doubt),
      h("p", { class: "hint" }, `Here: ${placeText(story, state.here)}. ${countText(story, state)}`),
    );
  };
  return { node, draw };
}

export function multiples(story, state) {
  const many = Math.min(PANELS, story.ends.length);
  const chosen = Array.from({ length: many }, (_, k) =>
    Math.round((k * (story.ends.length - 1)) / Math.max(1, many - 1)),
  );
  const node = h("div", { class: "multiples" });
  const panels = chosen.map((at) => button("", () => state.set({ at }), { class: "panel" }));
  node.append(...panels);
  const mark = () => panels.forEach((panel, k) => panel.setAttribute("aria-pressed", chosen[k] === state.at));
  const draw = () => {
    const palette = paletteOf(state);
    panels.forEach((panel, k) => {
      const one = { choice: state.choice, at: chosen[k] };
      const picture = small(story, story.picture(one), story.choices[state.choice], palette);
      panel.replaceChildren(picture, h("span", {}, spanText(story.span(one))));
    });
    mark();
  };
  return { node, draw, mark };
}

// The line once more, as a table.
export function table(story, state) {
  return unfolded("The same in numbers", () => {
    const rows = story.line(state).map(({ value, low, high }, at) => {
      const { first, last } = story.span({ choice: state.choice, at });
      return [first === last ? String(last) : `${first} to ${last}`, records(value), records(low), records(high)];
    });
    return [tableOf(`Records near ${placeText(story, state.here)}`, ["Periods", "Records near", "From", "To"], rows)];
  });
}

// What differs between two single periods.
export function compared(story, state) {
  const options = story.ends.map((end, at) => [at, `Period ${end}`]);
  const select = (name, text) =>
    labeled(text, choice(options, state[name], (value) => state.set({ [name]: Number(value) })));
  const periods = () => [state.from, state.to].map((at) => `period ${story.ends[at]}`);
  const told = h("p", { role: "status" });
  const place = h("div", { class: "difference" });
  const numbers = unfolded("The same in numbers", () => {
    const [one, two] = periods();
    const rows = story.differences(state).ordered.map(({ here, first, second, value, low, high, adjusted }) => [
      placeText(story, here), ...[first, second, value].map(number), `${number(low)} to ${number(high)}`, adjusted < RARE ? `under ${RARE}` : number(adjusted),
    ]);
    const headings = ["Point", one, two, "Difference", "95 % interval", "p, corrected"];
    return [tableOf(`Density in ${two} minus ${one}, best evidence first`, headings, rows)];
  });
  const draw = () => {
    const same = state.from === state.to;
    numbers.node.hidden = same;
    told.textContent = "Choose two different periods.";
    if (same) return place.replaceChildren();
    const { found } = story.differences(state);
    const sure = found.filter((one) => one.sure).length;
    const [one, two] = periods();
    told.replaceChildren(
      h("strong", {}, `${sure || "None"} of ${found.length} points ${sure === 1 ? "differs" : "differ"} significantly.`),
      ` ${CLAIMS[state.of]}`,
    );
    const title = `Density: ${two} minus ${one}`;
    const options = { width: sizeOf(place), palette: paletteOf(state), title, label: `${title}. ${told.textContent}` };
    place.replaceChildren(h("figure", {}, difference(story, found, options)));
    numbers.draw();
  };
  onWidth(place, draw);
  const claims = [["populations", "Populations"], ["tables", "These records"]];
  const node = h("section", { class: "compared", "aria-labelledby": "compared" },
    h("h2", { id: "compared" }, "What differs"),
    h("div", { class: "choose" },
      select("from", "Period"), select("to", "Compared with"),
      segments("of", "Claim", claims, state.of, (of) => state.set({ of })),
    ),
    told, place,
    h("p", { class: "hint" }, "Dots: significant at 5 %, corrected for the number of points. Density: the mean kernel value over all records."),
    numbers.node,
  );
  return { node, draw };
}
