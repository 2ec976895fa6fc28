// Columns that were not counted together: what to say of them. The words are those of tabular/apart.py.

const NAMED = 2; // pairs

// A line on such pairs among these columns, or of one of them alone; empty if there are none.
export function apart(table, places, one = null) {
  const pairs = table.unmeasured(places).filter((pair) => one === null || pair.includes(one));
  if (!pairs.length) return "";
  const named = pairs.slice(0, NAMED).map(([i, j]) => `${table.columns[i].name} and ${table.columns[j].name}`);
  const left = pairs.length - NAMED;
  const more = left > 0 ? ` and ${left} more ${left > 1 ? "pairs" : "pair"}` : "";
  return `Not counted together: ${named.join(", ")}${more}. ${INFERRED}`;
}

const INFERRED =
  "How such columns hang together is inferred; intervals allow for what is usual among tables, and fail where it is more.";
