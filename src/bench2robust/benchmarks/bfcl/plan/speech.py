"""What the user has said so far, and whether a value can be taken from it. The matcher is lexical: gold decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .expressions import NUMBER

_NUMBER_WORDS = {
    word: number
    for number, words in enumerate(
        (
            "zero",
            "one first single last",
            "two second twice double",
            "three third",
            "four fourth",
            "five fifth quintet",
        )
    )
    for word in words.split()
} | {"six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "dozen": 12, "twenty": 20, "hundred": 100}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_CURRENCIES = {
    "USD": ("us dollar", "dollar", "$", "american"),
    "RMB": ("yuan", "renminbi", "chinese"),
    "EUR": ("euro", "€"),
    "GBP": ("pound", "sterling", "british", "£"),
    "JPY": ("yen", "japanese"),
    "CAD": ("canadian",),
    "AUD": ("australian",),
}
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_MONTH = re.compile(r"(\d{2})/(\d{4})")
_MOST_WORDS = 3


@dataclass(frozen=True)
class Speech:
    """The words of some turns."""

    text: str

    @cached_property
    def _low(self) -> str:
        return " ".join(self.text.lower().split())

    @cached_property
    def _letters(self) -> str:
        return re.sub(r"[^a-z0-9]+", " ", self._low)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number said, in figures or words."""
        figures = {float(match.replace(",", "")) for match in NUMBER.findall(self._low)}
        figures |= {float(digits) for digits in re.findall(r"\d+(?:\.\d+)?", self._low)}
        return frozenset(figures) | {
            float(_NUMBER_WORDS[w]) for w in self._letters.split() if w in _NUMBER_WORDS
        }

    def says(self, value: Any) -> bool:
        """Whether the words hold a value, in whatever spelling."""
        if isinstance(value, bool):
            return False
        if isinstance(value, int | float):
            return float(value) in self.numbers
        return isinstance(value, str) and bool(value.strip()) and self._says(value.strip())

    def _says(self, value: str) -> bool:
        low = " ".join(value.lower().split())
        bare = low.strip("#@.!? ")
        if self._holds(low) or (bare and self._holds(bare)):
            return True
        if (date := _DATE.fullmatch(value)) is not None:
            return self._dated(int(date[1]), int(date[2]), int(date[3]))
        if (month := _MONTH.fullmatch(value)) is not None:
            return self._dated(int(month[2]), int(month[1]), None)
        if value in _CURRENCIES:
            return any(word in self._low for word in _CURRENCIES[value])
        letters = re.sub(r"[^a-z0-9]+", " ", low).strip()
        if len(letters) > 3 and f" {letters} " in f" {self._letters} ":
            return True
        # "tech stocks" for Technology, "comprehensively" for comprehensive
        words = [word for word in self._letters.split() if len(word) > 3]
        return low.isalpha() and any(
            low.startswith(word) or (len(low) > 5 and word.startswith(low)) for word in words
        )

    def _holds(self, low: str) -> bool:
        """Whether a text is said, as whole words."""
        start = self._low.find(low)
        while start >= 0:
            before, after = self._low[start - 1 : start], self._low[start + len(low) : start + len(low) + 1]
            if not (before.isalnum() and low[0].isalnum()) and not (after.isalnum() and low[-1].isalnum()):
                return True
            start = self._low.find(low, start + 1)
        return False

    def _dated(self, year: int, month: int, day: int | None) -> bool:
        name = re.search(rf"\b{_MONTHS[month - 1][:3]}", self._low) is not None
        figures = {int(n) for n in re.findall(r"\d+", self._low)}
        dated = year in figures or (day is None and year % 100 in figures)
        return dated and (name or month in figures) and (day is None or day in figures)

    def names(self) -> Iterator[str]:
        """Return what may be a name: runs of words that begin with a capital letter, or are quoted."""
        seen: set[str] = set()
        for quoted in re.findall(r"['\"“]([^'\"”]{2,40})['\"”]", self.text):
            seen.add(quoted)
        words = re.findall(r"[A-Za-z][\w.&-]*", self.text)
        for size in range(_MOST_WORDS, 0, -1):
            for start in range(len(words) - size + 1):
                run = words[start : start + size]
                if all(word[0].isupper() for word in run):
                    seen.update((" ".join(run), " ".join(run).rstrip(".")))
        yield from sorted(seen, key=lambda name: (-len(name), name))
