// What must be known of an answer, in Python's words: the twin of table/remarks.py. `besides` are columns that are asked about but
// for those of the filters; of only `one` of these, what concerns it.

export function remarks(table, filters, besides = [], one = null) {
  const { posterior } = table.answers;
  const root = (j) => posterior.derived.get(j)?.root ?? j;
  const product = posterior.folded(new Map([...filters].map(([j, { weights }]) => [j, weights])));
  const asked = [...new Set([...product.keys(), ...besides.map(root)])].filter((j) => j !== table.place).sort((a, b) => a - b);
  const pairs = asked.flatMap((i, at) => asked.slice(at + 1).map((j) => [i, j]));
  const apart = pairs.filter(([i, j]) => !table.together(i, j) && (one === null || [i, j].includes(root(one))));
  const byLevel = besides.filter((j) => root(j) === j).map((j) => [j, null]);
  const inOrder = (entries) => [...entries].sort(([i], [j]) => i - j);
  const pooled = inOrder(product).concat(byLevel).map(([j, weights]) => {
    const others = asked.filter((k) => k !== j && table.together(j, k));
    return others.length && (one === null || others.includes(root(one))) ? asOne(table, table.columns[j], weights, others) : null;
  });
  const cuts = one === null ? inOrder(filters).map(([j, filter]) => cut(table, table.columns[j], filter)) : [];
  return [...new Set([...cuts, together(table, apart), ...pooled])].filter(Boolean);
}

function together({ columns, said }, pairs) {
  if (!pairs.length) return null;
  const named = pairs.slice(0, said.most).map(([i, j]) => `${columns[i].name} and ${columns[j].name}`);
  const left = pairs.length - said.most;
  const more = left > 0 ? ` and ${left} more ${left > 1 ? "pairs" : "pair"}` : "";
  return `${said.begins}${named.join(", ")}${more}. ${said.inferred}`;
}

// Levels that pairs count as one with others; of a column of words that is asked about word by word, each.
function asOne({ columns, said }, { remarks: { pooled }, group, ordered }, weights, others) {
  if (!pooled || !group || (!weights && ordered)) return null;
  const meant = weights ? [...group].filter((_, level) => weights[level] > 0) : [];
  const part = meant.length > 0 && meant.every((one) => one === meant[0]) && meant.length < group.filter((one) => one === meant[0]).length;
  return weights && !part ? null : filled(pooled, said.slot, others.map((j) => columns[j].name).join(", "));
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
