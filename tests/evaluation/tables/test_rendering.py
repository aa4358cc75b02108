"""Every format says what the table says: parsed back, the values are the same."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust.core.errors import FolderError, SpecError, UnknownNameError
from bench2robust.evaluation.tables import (
    FORMATS,
    Cell,
    Column,
    Row,
    Table,
    Unit,
    beside,
    format_of,
    paper,
    render,
    save,
    side_by_side,
)
from bench2robust.evaluation.tables.frames import frame
from bench2robust.evaluation.tables.table import number, printed

words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Zs", "Zl", "Zp")), max_size=8)
numbers = st.floats(-1e6, 1e6)
maybe = st.none() | numbers


def cells(unit: Unit) -> st.SearchStrategy[Cell]:
    if unit is Unit.TEXT:
        return st.builds(Cell, st.none() | words.filter(lambda word: word != "–"))
    if unit is Unit.MARK:
        return st.builds(Cell, st.none() | st.booleans())
    return st.builds(Cell, maybe, maybe, maybe, maybe, st.none() | st.integers(0, 10**6))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    columns = draw(
        st.lists(
            st.builds(Column, words, st.sampled_from(Unit), words, st.booleans()),
            min_size=1,
            max_size=4,
            unique_by=lambda column: column.title,
        )
    )
    rows = draw(
        st.lists(
            st.builds(
                Row,
                st.tuples(*(cells(column.unit) for column in columns)),
                st.sampled_from(["", "one"]),
                words,
                st.none() | st.just(Unit.POINTS),
            ),
            max_size=4,
        )
    )
    return Table("t", draw(words), tuple(columns), tuple(rows), tuple(draw(st.lists(words, max_size=2))))


@settings(deadline=None)
@given(tables())
def test_json_gives_the_table_back(table: Table) -> None:
    assert Table.from_dict(json.loads(render(table, "json"))) == table


@settings(deadline=None)
@given(tables())
def test_csv_gives_every_value_back(table: Table) -> None:
    header, *rows = csv.reader(io.StringIO(render(table, "csv").decode()))
    columns = frame(table)
    assert header == list(columns)
    assert len(rows) == len(table.rows)
    for row, *values in zip(rows, *columns.values(), strict=True):
        for said, value in zip(row, values, strict=True):
            if isinstance(value, bool):
                assert said == str(value).lower()
            elif isinstance(value, int | float):
                assert float(said) == value
            else:
                assert said == (value or "")


@settings(deadline=None)
@given(tables())
def test_parquet_gives_every_value_back(table: Table) -> None:
    polars = pytest.importorskip("polars")
    assert polars.read_parquet(io.BytesIO(render(table, "parquet"))).to_dict(as_series=False) == frame(table)


@settings(deadline=None)
@given(tables(), st.booleans())
def test_markdown_has_every_printed_cell_in_its_place(table: Table, intervals: bool) -> None:
    lines = render(table, "markdown", intervals=intervals).decode().split("\n")[4:]
    body = [line for line in lines if line.startswith("| ")]
    parsed = [
        [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]
        for line in body
    ]
    titles = [title for title, _ in table.sections if title]
    assert len(parsed) == len(table.rows) + len(titles)
    if not titles and not any("\\" in column.title for column in table.columns):
        shown = [printed(row, table, intervals=intervals) for row in table.rows]
        if not any("\\" in cell for row in shown for cell in row):
            assert parsed == shown


@settings(deadline=None)
@given(tables())
def test_latex_has_as_many_cells_as_columns_and_nothing_unescaped(table: Table) -> None:
    text = render(table, "latex").decode()
    inside = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in inside.split("\n") if line.endswith(r"\\") and r"\multicolumn" not in line]
    assert all(len(re.findall(r"(?<!\\)&", row)) == len(table.columns) - 1 for row in rows)
    bare = re.sub(r"\\[#&%_${}]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert "#" not in bare


@settings(deadline=None)
@given(tables())
def test_the_terminal_shows_every_cell(table: Table) -> None:
    text = render(table, "terminal").decode()
    for row in table.rows:
        assert all(cell in text for cell in printed(row, table))


@pytest.mark.parametrize("name", list(paper.tables()))
@pytest.mark.parametrize("format_", FORMATS)
def test_the_papers_tables_in_every_format(name: str, format_: str) -> None:
    assert render(paper.tables()[name], format_)


def test_numbers_look_as_in_the_paper() -> None:
    shown = [number(value, Unit.POINTS) for value in (16.8, -4.6, 0.0, -0.04, 0.04)]
    assert shown == ["+16.8", "−4.6", "0.0", "0.0", "0.0"]
    assert [number(v, Unit.TOKENS) for v in (70_400, 9_960, 9_940, 940)] == ["70K", "10K", "9.9K", "940"]
    assert number(12_345, Unit.COUNT) == "12,345"


def test_the_papers_rows_stand_below_ours_under_the_same_columns() -> None:
    ours = Table(
        "main",
        "ours",
        (Column("Model"), Column("Clean", Unit.PERCENT), Column("Extra", Unit.NUMBER)),
        (Row((Cell("strategic"), Cell(99.0), Cell(1.0))),),
    )
    both = beside(ours, [paper.tables()["table1"]])
    assert [column.title for column in both.columns][:3] == ["Model", "Clean", "Extra"]
    assert "Inj w/ Alt" in [column.title for column in both.columns]
    assert both.rows[1].cells[:3] == (Cell("4B"), Cell(64.3, 0.9), Cell())
    assert both.rows[1].source == "Table 1, row 1"
    assert both.rows[1].section.startswith("the paper's Table 1")


def test_the_papers_columns_stand_beside_ours_in_the_matching_rows() -> None:
    rows = (Row((Cell("stale"), Cell(50.0))), Row((Cell("blocked"), Cell(1.0))))
    ours = Table("errors", "ours", (Column("Error Type"), Column("a", Unit.PERCENT)), rows)
    both = side_by_side(ours, paper.tables()["table4"], "paper's")
    assert both.columns[2].title == "paper's, Pass Rate (%): Base"
    assert both.rows[0].cells[1:3] == (Cell(50.0), Cell(28.9))
    assert both.rows[1].cells[2:] == (Cell(),) * 5
    assert both.rows[2].cells[:3] == (Cell("timeout"), Cell(), Cell(12.4))


def test_mistakes_are_one_line() -> None:
    table = paper.tables()["table1"]
    with pytest.raises(UnknownNameError, match="did you mean 'markdown'"):
        render(table, "markdwn")
    with pytest.raises(SpecError, match="expected 2 cells in row 1 of table='t', got 1"):
        Table("t", "", (Column("a"), Column("b")), (Row((Cell(),)),))
    with pytest.raises(SpecError, match="expected a table, got something else"):
        Table.from_dict({"name": "t"})


def test_the_files_ending_says_the_format(tmp_path) -> None:
    assert [format_of(tmp_path / f"t{e}") for e in (".md", ".tex", ".parquet")] == [
        "markdown",
        "latex",
        "parquet",
    ]
    with pytest.raises(UnknownNameError, match=r"unknown ending of an output file='.doc'"):
        format_of(tmp_path / "t.doc")
    with pytest.raises(FolderError, match="expected a file that can be written"):
        save(b"", tmp_path / "nowhere" / "t.md")
