"""Public names of schemas and conditions."""

from scumble.columns.category import Boolean, Category
from scumble.columns.column import Column
from scumble.columns.conditions import Condition, condition
from scumble.columns.date import Date
from scumble.columns.distinct import Distinct
from scumble.columns.draft import draft
from scumble.columns.number import Number
from scumble.columns.schema import Described, Encoded, Schema
from scumble.columns.tokens import Tokens

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Condition",
    "Date",
    "Described",
    "Distinct",
    "Encoded",
    "Number",
    "Schema",
    "Tokens",
    "condition",
    "draft",
]
