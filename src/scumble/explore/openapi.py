"""The API in words that programs read: OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from scumble._version import __version__
from scumble.explore import points
from scumble.explore.exhibit import Exhibit
from scumble.explore.exhibits import AnyExhibit
from scumble.explore.tableexhibit import TableExhibit

_TYPES: dict[str, dict[str, Any]] = {
    "number": {"type": "number"},
    "category": {"type": ["string", "number", "boolean"]},
    "tokens": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    "any": {},
}
_CONFIDENCE: dict[str, Any] = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95}


def description(exhibit: AnyExhibit) -> dict[str, Any]:
    """What can be asked of this exhibit, with its own columns and classes."""
    asked: dict[str, Any] = {}
    if isinstance(exhibit, TableExhibit):
        asked = _of_a_table(exhibit)
    elif isinstance(exhibit, Exhibit):
        asked = _of_points(exhibit)
    info = {"get": _operation("info", "The facts on the privacy card.", {"type": "object"})}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"scumble: {exhibit.title}",
            "version": __version__,
            "description": "Questions to a private release. They cost no privacy, however many are asked.",
        },
        "paths": {"/api/info": info, **asked},
    }


def _of_points(exhibit: Exhibit) -> dict[str, Any]:
    paths: dict[str, Any] = {
        "/api/density": {
            "post": _operation("density", "Densities with intervals.", _numbers(), _question(exhibit, density=True))
        },
    }
    if exhibit.predicts:
        answer = {
            "type": "object",
            "required": ["prediction"],
            "properties": {
                "prediction": {"type": "array"},
                "classes": {"type": "array", "description": "the order of the probabilities"},
                "probability": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
            },
        }
        paths["/api/predict"] = {
            "post": _operation("predict", "A class or a number for each point.", answer, _question(exhibit))
        }
    return paths


def _of_a_table(exhibit: TableExhibit) -> dict[str, Any]:
    names = ("value", "low", "high", "standard_error")
    answer = {
        "type": "object",
        "required": [*names, "remarks"],
        "properties": {
            **{name: {"type": ["number", "null"]} for name in names},
            "remarks": {"type": "array", "items": {"type": "string"}, "description": "what else must be known of it"},
        },
    }
    where = {"type": "string", "description": "which records: age >= 65 and sex == 'Female'; left out, all of them"}
    shared = {"where": where, "confidence": _CONFIDENCE}
    numbers = [name for name, column in exhibit.release.schema.items() if column.kind in ("number", "boolean")]
    count = {"type": "object", "properties": shared, "additionalProperties": False}
    mean = {**count, "properties": {"column": {"type": "string", "enum": numbers}, **shared}, "required": ["column"]}
    return {
        "/api/count": {"post": _operation("count", "How many records, with an interval.", answer, count)},
        "/api/mean": {"post": _operation("mean", "The mean of a column, with an interval.", answer, mean)},
    }


def _operation(
    name: str, summary: str, answer: dict[str, Any], question: dict[str, Any] | None = None
) -> dict[str, Any]:
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {"error": {"type": "string", "description": "what is wrong and what to do"}},
    }
    out: dict[str, Any] = {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": "the answer", "content": {"application/json": {"schema": answer}}},
            "4XX": {"description": "a wrong question", "content": {"application/json": {"schema": error}}},
        },
    }
    if question is not None:
        out["requestBody"] = {"required": True, "content": {"application/json": {"schema": question}}}
    return out


def _numbers() -> dict[str, Any]:
    names = ("kernel_sum", "density", "lower", "upper")
    return {
        "type": "object",
        "required": list(names),
        "properties": {name: {"type": "array", "items": {"type": "number"}} for name in names},
    }


def _question(exhibit: Exhibit, *, density: bool = False) -> dict[str, Any]:
    kinds = exhibit.roles
    dated = {name for name, kind in exhibit.kinds.items() if kind != "whole"} if density else set()
    columns = {
        name: _TYPES["category" if name in dated else role] for name, role in zip(exhibit.names, kinds, strict=True)
    }
    point = {
        "oneOf": [
            {
                "type": "array",
                "prefixItems": list(columns.values()),
                "minItems": len(columns),
                "maxItems": len(columns),
                "description": "values in the order of the columns",
            },
            {"type": "object", "properties": columns, "required": list(columns), "additionalProperties": False},
        ]
    }
    properties: dict[str, Any] = {
        "points": {"type": "array", "items": point, "minItems": 1, "maxItems": points.MOST},
    }
    required = ["points"]
    if density:
        properties["confidence"] = {**_CONFIDENCE, "description": "of lower and upper, which bound kernel_sum"}
        classes = [str(name) for name in exhibit.releases if name is not None]
        if classes:
            properties["class"] = {"type": "string", "enum": classes}
            required.append("class")
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
