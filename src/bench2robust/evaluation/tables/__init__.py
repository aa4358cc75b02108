"""The paper's tables for any systems: as data (`Table`), in every format (`render`), the paper's values beside."""

from .rendering import FORMATS, format_of, render, save
from .table import Cell, Column, Row, Table, Unit, beside, side_by_side

__all__ = [
    "FORMATS",
    "Cell",
    "Column",
    "Row",
    "Table",
    "Unit",
    "beside",
    "format_of",
    "render",
    "save",
    "side_by_side",
]
