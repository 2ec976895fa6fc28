"""Common table expressions and subqueries after FROM, put into the SELECT that reads them.

What a statement reads may filter records, name columns anew and compute of them: then its conditions and formulas take
the place of the names. It may also be grouped, if the outer SELECT only picks, filters and sorts the groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scumble.errors import ParameterError
from scumble.relational.syntax import MOST_WORDS, bare, exp, refused, shown
from scumble.schema.unclear import known

_INNER = (exp.AggFunc, exp.Window, exp.Subquery)


def flat(tree: Any, given: Mapping[str, Any] | None = None) -> Any:
    """The same SELECT, straight from a release; `given` has what common table expressions stand for."""
    names = dict(given or {})
    written = tree.args.get("with_")
    if written is not None:
        tree.set("with_", None)
        for one in written.expressions:
            if written.args.get("recursive") or one.args["alias"].args.get("columns"):
                raise refused("WITH RECURSIVE, or new names of columns in WITH")
            names[one.alias.lower()] = _select(one.this, names)
    for part in [*tree.find_all(exp.Subquery)]:
        if not isinstance(part.parent, exp.From | exp.Join) and isinstance(part.this, exp.Select):
            part.set("this", flat(part.this, names))
    source = tree.args.get("from_")
    table = None if source is None else source.this
    if isinstance(table, exp.Subquery):
        return _joined(tree, _select(table.this, names), table.alias)
    if isinstance(table, exp.Table) and not table.args.get("db") and table.name.lower() in names:
        return _joined(tree, names[table.name.lower()].copy(), table.alias_or_name)
    return tree


def _select(tree: Any, names: Mapping[str, Any]) -> Any:
    tree = bare(tree)
    if not isinstance(tree, exp.Select):
        raise refused(f"{shown(tree)} to select from")
    return flat(tree, names)


def _joined(outer: Any, inner: Any, name: str) -> Any:
    """A SELECT from another one, as one."""
    grouped = bool(inner.args.get("group")) or any(one.find(*_INNER) for one in inner.expressions)
    allowed = {"expressions", "from_", "where", *(("group", "having") if grouped else ())}
    beyond = [key for key, part in inner.args.items() if part and key not in allowed]
    if beyond or (grouped and (outer.args.get("group") or outer.args.get("having") or _computes(outer))):
        raise ParameterError(
            "A table in WITH or FROM may filter records and name columns; a grouped one may only be picked from, "
            "filtered and sorted. Hint: ask for its groups first, by themselves."
        )
    computed = {
        one.alias_or_name.lower(): bare(one.unalias()) for one in inner.expressions if not isinstance(one, exp.Star)
    }
    everything = any(isinstance(one, exp.Star) for one in inner.expressions)
    if grouped:
        _name_keys(inner, computed)
    outer.set("from_", inner.args.get("from_"))
    _put(outer, computed, name, everything)
    if grouped and any(isinstance(one, exp.Star) for one in outer.expressions):
        outer.set("expressions", inner.expressions)
    kept = "having" if grouped else "where"
    conditions = [part.this for part in (inner.args.get(kept), outer.args.get("where")) if part]
    outer.set("where", inner.args.get("where"))
    if conditions:
        outer.set(kept, (exp.Having if grouped else exp.Where)(this=exp.and_(*conditions, copy=False)))
    if grouped:
        outer.set("group", inner.args.get("group"))
    return outer


def _computes(outer: Any) -> bool:
    return any(one.find(*_INNER) for one in outer.expressions)


def _name_keys(inner: Any, computed: Mapping[str, Any]) -> None:
    """Keys by what they are: aliases and places mean something in the inner SELECT alone."""
    group = inner.args.get("group")
    if group is None:
        return
    chosen = [bare(one.unalias()) for one in inner.expressions]
    keys = [one for one in chosen if not one.find(*_INNER)] if group.args.get("all") else group.expressions
    for place, key in enumerate(keys):
        if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.this) <= len(chosen):
            keys[place] = chosen[int(key.this) - 1]
        elif isinstance(key, exp.Column):
            keys[place] = computed.get(key.name.lower(), key)
    inner.set("group", exp.Group(expressions=[one.copy() for one in keys]))


def _put(outer: Any, computed: Mapping[str, Any], name: str, everything: bool) -> None:
    """What names stand for, in place of the names."""
    aliases = {one.alias.lower(): one.this for one in outer.expressions if isinstance(one, exp.Alias)}
    outer.set(
        "expressions",
        [exp.alias_(one, one.name, quoted=True) if isinstance(one, exp.Column) else one for one in outer.expressions],
    )
    size = {key: sum(1 for _ in part.walk()) for key, part in computed.items()}
    columns = [one for one in outer.find_all(exp.Column) if one.table.lower() in ("", name.lower())]
    if sum(size.get(one.name.lower(), 1) for one in columns) > MOST_WORDS:
        raise ParameterError(f"The statement has more than {MOST_WORDS:,} words. Hint: ask for less at once.")
    for one in columns:
        key = one.name.lower()
        alias = None if one.table else aliases.get(key)
        if isinstance(one.this, exp.Star) or (alias is not None and one.find_ancestor(exp.Order)):
            continue
        if key in computed:
            apart = alias is not None and bare(alias) != one and bare(alias) != exp.paren(computed[key])
            if apart and one.find_ancestor(exp.Group, exp.Having):
                raise ParameterError(f"{one.name!r} is a column and something else by AS. Hint: use another name.")
            one.replace(exp.paren(computed[key].copy(), copy=False))
        elif everything or alias is not None:
            one.set("table", None)
        else:
            known(one.name, [*computed])
