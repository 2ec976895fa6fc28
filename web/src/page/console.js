// For the browser's console: points as lists in the order of the columns; the map as it was last drawn.

export function consoleOf(exhibit, state) {
  const tableOf = (points) =>
    exhibit.engine.table(
      points.length,
      exhibit.columns.map((_, j) => points.map((point) => point[j])),
    );
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
