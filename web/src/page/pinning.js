// Pins in a picture. Each stands beside its place, on a line of its own: what is there stays in sight.

const SIZE = 18;
const SIDES = [[1, -1], [-1, -1], [1, 1], [-1, 1], [0, -1], [1, 0], [0, 1], [-1, 0]];
const ASIDE = [1, 2].flatMap((ring) => SIDES.map(([a, b]) => [a * ring * (SIZE + 1), b * ring * (SIZE + 1)]));

// `points`: {x, y, text, kind: "mark" | "mode", faint}; values, not positions.
export function pin(chart, points) {
  chart.pins.selectAll("*").remove();
  const taken = [];
  for (const { x, y, text, kind, faint } of points) {
    const [px, py] = [chart.placeX(x), chart.placeY(y)];
    if (!chart.holds(px, py)) continue;
    const free = ([dx, dy]) =>
      taken.every(([a, b]) => Math.abs(a - px - dx) >= SIZE || Math.abs(b - py - dy) >= SIZE) &&
      chart.holds(px + dx, py + dy);
    const [dx, dy] = ASIDE.find(free) ?? [0, 0];
    taken.push([px + dx, py + dy]);
    draw(chart, px, py, dx, dy, { text, kind, faint });
  }
}

function draw({ pins, palette }, px, py, dx, dy, { text, kind, faint }) {
  const colour = kind === "mark" ? palette.mark : palette.mode;
  const g = pins
    .append("g")
    .attr("class", "pin")
    .attr("opacity", faint ? 0.45 : 1);
  g.append("path").attr("d", `M${px},${py}l${dx},${dy}`).attr("stroke", colour).attr("stroke-width", 1.5);
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
