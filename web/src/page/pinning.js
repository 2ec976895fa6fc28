// Pins in a picture. Each stands beside its place, on a line of its own: what is there stays in sight.

const SIZE = 18;
const SIDES = [[1, -1], [-1, -1], [1, 1], [-1, 1], [0, -1], [1, 0], [0, 1], [-1, 0]];
const ASIDE = [1, 2, 3, 4].flatMap((ring) => SIDES.map(([a, b]) => [a * ring * (SIZE + 1), b * ring * (SIZE + 1)]));
const HALF = SIZE / 2 + 1;
const SPOT = 2.5;

// `points`: {x, y, text, kind: "mark" | "mode", faint}; values, not positions.
export function pin(chart, points) {
  chart.pins.selectAll("*").remove();
  const shown = points
    .map((point) => ({ ...point, px: chart.placeX(point.x), py: chart.placeY(point.y) }))
    .filter(({ px, py }) => chart.holds(px, py));
  const clear = (x, y, places, room) => places.every(([a, b]) => Math.abs(a - x) >= room || Math.abs(b - y) >= room);
  const spots = shown.map(({ px, py }) => [px, py]);
  const [lines, marks] = [chart.pins.append("g"), chart.pins.append("g")]; // no line lies over another pin
  const heads = [];
  for (const point of shown) {
    const { px, py } = point;
    const apart = ([dx, dy]) => clear(px + dx, py + dy, heads, SIZE + 2) && within(chart, px + dx, py + dy);
    const bare = ([dx, dy]) => clear(px + dx, py + dy, spots, HALF + SPOT);
    const [dx, dy] = ASIDE.find((way) => apart(way) && bare(way)) ?? ASIDE.find(apart) ?? [0, 0];
    heads.push([px + dx, py + dy]);
    draw(chart, lines, marks, px, py, dx, dy, point);
  }
}

// Whether a whole head has room in the frame.
const within = (chart, x, y) => chart.holds(x - HALF, y - HALF) && chart.holds(x + HALF, y + HALF);

function draw({ palette }, lines, heads, px, py, dx, dy, { text, kind, faint }) {
  const colour = kind === "mark" ? palette.mark : palette.mode;
  const part = (layer, name) =>
    layer
      .append("g")
      .attr("class", name)
      .attr("opacity", faint ? 0.45 : 1);
  const [g, line] = [part(heads, "pin"), part(lines, "way")];
  line.append("path").attr("d", `M${px},${py}l${dx},${dy}`).attr("stroke", colour).attr("stroke-width", 1.5);
  const spot = g.append("circle").attr("cx", px).attr("cy", py).attr("r", 2.5).attr("fill", colour);
  spot.attr("stroke", palette.paper).attr("stroke-width", 0.8);
  const head = g.append("g").attr("transform", `translate(${px + dx},${py + dy})`);
  if (kind === "mark")
    head.append("circle").attr("r", 9).attr("fill", palette.paper).attr("stroke", colour).attr("stroke-width", 2);
  else
    head
      .append("rect")
      .attr("x", -8)
      .attr("y", -8)
      .attr("width", 16)
      .attr("height", 16)
      .attr("rx", 3)
      .attr("fill", colour)
      .attr("stroke", palette.paper)
      .attr("stroke-width", 1.5);
  head
    .append("text")
    .attr("text-anchor", "middle")
    .attr("dy", "0.36em")
    .attr("font-size", 10.5)
    .attr("font-weight", 700)
    .attr("fill", kind === "mark" ? colour : palette.paper)
    .text(text);
}
