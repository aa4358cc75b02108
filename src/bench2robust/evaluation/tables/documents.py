"""A table as Markdown and as LaTeX."""

from __future__ import annotations

from typing import Final

from .table import MINUS, NO, NOTHING, YES, Column, Table, heads, printed

_TEX: Final = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "→": r"$\to$",
    "×": r"$\times$",
    "τ²": r"$\tau^2$",
    "Δ": r"$\Delta$",
    "≥": r"$\geq$",
    "↓": r"$\downarrow$",
    MINUS: r"$-$",
    NOTHING: "--",
    "—": "---",
    YES: r"\checkmark{}",
    NO: r"$\times$",
}
_WIDE: Final = 8
"""Columns from which a LaTeX table is as wide as the page."""


def markdown(table: Table, *, intervals: bool = False) -> str:
    """Return the table in Markdown: caption, table, notes; a section's title is a row in bold."""
    lines = [f"**{_md(table.title)}**", ""]
    lines.append(_md_row([_md(column.title) for column in table.columns]))
    lines.append(_md_row(["---:" if column.unit.numeric else "---" for column in table.columns]))
    for section, rows in table.sections:
        if section:
            lines.append(_md_row([f"**{_md(section)}**"] + [""] * (len(table.columns) - 1)))
        lines += [_md_row([_md(cell) for cell in printed(row, table, intervals=intervals)]) for row in rows]
    for note in table.notes:
        lines += ["", _md(note)]
    return "\n".join(lines) + "\n"


def latex(table: Table, *, intervals: bool = False) -> str:
    r"""Return the table in LaTeX; it needs ``\usepackage{booktabs,amssymb}``."""
    star = "*" if len(table.columns) >= _WIDE else ""
    lines = [rf"\begin{{table{star}}}", r"\centering", r"\small"]
    lines.append(rf"\begin{{tabular}}{{{''.join('r' if c.unit.numeric else 'l' for c in table.columns)}}}")
    lines += [r"\toprule", *_tex_heads(table.columns), _tex_row([tex(c.name) for c in table.columns])]
    for section, rows in table.sections:
        lines.append(r"\midrule")
        if section:
            lines.append(rf"\multicolumn{{{len(table.columns)}}}{{l}}{{\textit{{{tex(section)}}}}} \\")
        lines += [_tex_row([tex(cell) for cell in printed(row, table, intervals=intervals)]) for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    caption = " ".join(tex(sentence) for sentence in (f"{table.title}.", *table.notes))
    lines += [rf"\caption{{{caption}}}", rf"\label{{tab:{table.name}}}", rf"\end{{table{star}}}"]
    return "\n".join(lines) + "\n"


def tex(plain: str) -> str:
    r"""Return a text with everything that LaTeX would take for a command escaped.

    >>> tex("rate_limit ±5%")
    'rate\\_limit $\\pm$5\\%'
    """
    return "".join(_TEX.get(piece, piece) for piece in _pieces(plain))


def _pieces(plain: str) -> list[str]:
    parts = plain.split("τ²")
    pieces = list(parts[0])
    for part in parts[1:]:
        pieces += ["τ²", *part]
    return pieces


def _tex_heads(columns: tuple[Column, ...]) -> list[str]:
    groups = heads(columns)
    if not any(name for name, _ in groups):
        return []
    cells, rules, at = [], [], 1
    for name, span in groups:
        cells.append(rf"\multicolumn{{{span}}}{{c}}{{{tex(name)}}}" if name else "")
        if name:
            rules.append(rf"\cmidrule(lr){{{at}-{at + span - 1}}}")
        at += span
    return [_tex_row(cells), " ".join(rules)]


def _tex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _md(plain: str) -> str:
    """Escape what would end a cell or begin emphasis."""
    for mark in ("\\", "|", "*", "<", "`"):
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def _md_row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
