"""The API in words that programs read: OpenAPI 3.1."""

from __future__ import annotations

from scumble._version import __version__
from scumble.show.exhibit import MOST_POINTS, Exhibit
from scumble.show.pages import AnyExhibit
from scumble.show.tableexhibit import TableExhibit
from scumble.show.usefulness import Facts

_CELLS: dict[str, Facts] = {
    "number": {"type": "number"},
    "category": {"type": ["string", "number", "boolean"]},
    "tokens": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "any": {},
}
_CONFIDENCE: Facts = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}
_NUMBERS: Facts = {"type": "array", "items": {"type": "number"}}
_ERROR: Facts = {"error": {"type": "string", "description": "what is wrong and what to do"}}


def description(exhibit: AnyExhibit) -> Facts:
    """What can be asked of this exhibit, with its own columns and classes."""
    asked: Facts = {}
    if isinstance(exhibit, TableExhibit):
        asked = _of_a_table(exhibit)
    elif isinstance(exhibit, Exhibit):
        asked = _of_points(exhibit)
    facts = _operation("The facts on the privacy card.", {"type": "object"})
    posts = {path: {"post": {"operationId": path.removeprefix("/api/"), **asked[path]}} for path in asked}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"scumble: {exhibit.title}",
            "version": __version__,
            "description": "Questions to a private release. They cost no privacy, however many are asked.",
        },
        "paths": {"/api/info": {"get": {"operationId": "info", **facts}}, **posts},
    }


def _of_points(exhibit: Exhibit) -> Facts:
    answer = _object(dict.fromkeys(("kernel_sum", "density", "lower", "upper"), _NUMBERS))
    density: Facts = {"confidence": {**_CONFIDENCE, "description": "of lower and upper, which bound kernel_sum"}}
    classes = [str(name) for name in exhibit.releases if name is not None]
    if classes:
        density["class"] = {"type": "string", "enum": classes}
    dated = {name for name, kind in exhibit.kinds.items() if kind != "whole"}
    question = _points(exhibit, dated, **density)
    question["required"] += ["class"] if classes else []
    paths: Facts = {"/api/density": _operation("Densities with intervals.", answer, question)}
    if exhibit.predicts:
        answer = _object({"prediction": {"type": "array"}})
        answer["properties"] |= {"classes": {"type": "array"}, "probability": {"type": "array", "items": _NUMBERS}}
        paths["/api/predict"] = _operation("A class or a number for each point.", answer, _points(exhibit))
    return paths


def _points(exhibit: Exhibit, dated: set[str] | None = None, **more: Facts) -> Facts:
    """A question about points: lists in the order of the columns, or objects by their names."""
    columns = {
        name: _CELLS["category" if name in (dated or ()) else role]
        for name, role in zip(exhibit.names, exhibit.roles, strict=True)
    }
    size = {"minItems": len(columns), "maxItems": len(columns)}
    in_order = {"type": "array", "prefixItems": list(columns.values()), **size}
    point = {"oneOf": [in_order, _object(columns) | {"additionalProperties": False}]}
    points = {"type": "array", "items": point, "minItems": 1, "maxItems": MOST_POINTS}
    found = _object({"points": points}) | {"additionalProperties": False}
    found["properties"] |= more
    return found


def _of_a_table(exhibit: TableExhibit) -> Facts:
    answer = _object(
        {name: {"type": ["number", "null"]} for name in ("value", "low", "high", "standard_error")}
        | {"remarks": {"type": "array", "items": {"type": "string"}, "description": "what else must be known of it"}}
    )
    where = {"type": "string", "description": "which records: age >= 65 and sex == 'Female'; left out, all of them"}
    shared: Facts = {"where": where, "confidence": _CONFIDENCE}
    numbers = [name for name, column in exhibit.release.schema.items() if column.kind in ("number", "boolean")]
    count = {"type": "object", "properties": shared, "additionalProperties": False}
    mean = {**count, "properties": {"column": {"type": "string", "enum": numbers}, **shared}, "required": ["column"]}
    return {
        "/api/count": _operation("How many records, with an interval.", answer, count),
        "/api/mean": _operation("The mean of a column, with an interval.", answer, mean),
    }


def _object(properties: Facts) -> Facts:
    """An object that has all of these."""
    return {"type": "object", "required": list(properties), "properties": dict(properties)}


def _operation(summary: str, answer: Facts, question: Facts | None = None) -> Facts:
    def content(schema: Facts) -> Facts:
        return {"content": {"application/json": {"schema": schema}}}

    responses = {"200": {"description": "the answer", **content(answer)}}
    responses["4XX"] = {"description": "a wrong question", **content(_object(_ERROR))}
    asked = {} if question is None else {"requestBody": {"required": True, **content(question)}}
    return {"summary": summary, "responses": responses, **asked}
