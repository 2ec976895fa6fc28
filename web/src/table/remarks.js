// What must be known of an answer, in the words that table/remarks.py wrote into the page. Of an answer about more columns
// than those of the filters, `besides`, only what the filters' own answer does not say; of a count, `found`, also that it is small.

export function remarks(table, filters, besides = [], found = null) {
  const before = besides.length ? remarks(table, filters) : [];
  const { posterior } = table.answers;
  const root = (j) => posterior.derived.get(j)?.root ?? j;
  const product = posterior.folded(new Map([...filters].map(([j, { weights }]) => [j, weights])));
  const more = besides.map(root);
  const asked = [...new Set([...product.keys(), ...more])].sort((a, b) => a - b);
  const counted = asked.filter((j) => j !== table.place);
  const pairs = counted.flatMap((i, at) => counted.slice(at + 1).map((j) => [i, j]));
  const apart = pairs.filter((pair) => !table.together(...pair) && !(besides.length && pair.every((j) => product.has(j))));
  const byLevel = besides.filter((j) => root(j) === j).map((j) => [j, null]);
  const inOrder = (entries) => [...entries].sort(([i], [j]) => i - j);
  const pooled = inOrder(product).concat(byLevel).map(([j, weights]) => {
    const others = counted.filter((k) => k !== j && table.together(j, k));
    return others.length ? asOne(table, table.columns[j], weights, others) : null;
  });
  const cuts = inOrder(filters).map(([j, filter]) => cut(table, table.columns[j], filter)).filter(Boolean);
  const large = asked.flatMap((j) => table.columns[j].remarks.large);
  const small = found && found.low <= 0 && found.high > 0 && !cuts.length ? table.said.perhaps_none : null;
  return [...new Set([...cuts, together(table, apart), ...pooled, ...large, small])].filter((text) => text && !before.includes(text));
}

function together({ columns, said }, pairs) {
  if (!pairs.length) return null;
  const named = pairs.slice(0, said.most).map(([i, j]) => `'${columns[i].name}' and '${columns[j].name}'`);
  const left = pairs.length - said.most;
  const more = left > 0 ? ` and ${left} more ${left > 1 ? "pairs" : "pair"}` : "";
  return `${said.begins}${named.join(", ")}${more}. ${said.inferred}`;
}

// Levels that pairs count as one with others; of a column of words that is asked about word by word, each.
function asOne({ columns, said }, { remarks: { pooled }, group, ordered }, weights, others) {
  if (!pooled || !group || (!weights && ordered)) return null;
  const meant = weights ? [...group].filter((_, level) => weights[level] > 0) : [];
  const part = meant.length > 0 && meant.every((one) => one === meant[0]) && meant.length < group.filter((one) => one === meant[0]).length;
  return weights && !part ? null : filled(pooled, said.slot, others.map((j) => `'${columns[j].name}'`).join(", "));
}

// A date's cell that is cut, or a number's of which one value alone is meant, or all but one.
function cut({ said }, column, { first, end, low, high }) {
  const { edges, line, whole, kind, remarks } = column;
  if (first === undefined) return null;
  if (kind === "date") return Number.isInteger(first) && Number.isInteger(end) ? null : remarks.cut;
  const spans = [[low, high], [edges[0], low], [high, edges[line]]];
  const single = spans.filter(([from, to]) => whole && to === from + 1 && !(edges.includes(from) && edges.includes(to)));
  const cell = Math.floor(Math.min(...single.map(([from]) => column.place(from))));
  return single.length ? filled(remarks.cut, said.slot, column.text(cell, cell + 1)) : null;
}

const filled = (text, slot, words) => text.split(slot).join(words);
