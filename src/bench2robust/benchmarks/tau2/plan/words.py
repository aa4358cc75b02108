"""The user's words: which literals a text says, in what order, and with which cues.

The matcher is lexical. It decides which part of a gold argument the user could have meant
("grounded"), never what the argument is: the compiler checks every selector against gold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

_NUMBER_WORDS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
_SAME_WORD = {
    "feet": "ft", "foot": "ft", "inches": "inch", "gray": "grey", "litre": "liter", "gc": "gift card",
    "giftcard": "gift card", "tshirt": "t shirt", "tshirts": "t shirt", "resistent": "resistant",
    "adapter": "adapter", "fullsize": "full size", "cheaper": "cheaper", "zipcode": "zip code",
    "dc": "dc washington", "nyc": "new york", "la": "los angeles", "bucks": "dollar", "google": "google",
    "bike": "bicycle",
}  # fmt: skip
_SIZE_LETTERS = {"s": "small", "m": "medium", "l": "large"}
_LETTERS = ("xxs", "xs", "s", "m", "l", "xl", "xxl")
_LEVELS = (
    ("small", "low", "portable", "beginner", "basic"),
    ("medium", "intermediate"),
    ("large", "high", "expert", "professional"),
)
_UNITS = {"tb": 1000.0, "l": 1000.0, "liter": 1000.0, "liters": 1000.0, "k": 1000.0}


def normal(text: str) -> list[str]:
    """Split a text into comparable tokens (case, hyphens, plurals, number words, units)."""
    text = text.lower().replace("wi-fi", "wifi").replace("t-shirt", "t shirt").replace("v-neck", "v neck")
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    text = re.sub(r"(\d)([a-z])", r"\1 \2", text)
    text = re.sub(r"\b([a-z]{1,3})(\d)", r"\1 \2", text)
    tokens: list[str] = []
    for word in re.findall(r"\d+(?:\.\d+)?|[a-z]+|[>$%#+&]", text):
        word = _NUMBER_WORDS.get(word, word)
        tokens.extend(_SAME_WORD.get(word, word).split())
    return [_singular(t) for t in tokens]


@lru_cache(maxsize=4096)
def _literal(text: str) -> str:
    return " ".join(normal(text))


def _singular(token: str) -> str:
    if len(token) > 3 and token.endswith("ves"):
        return token[:-3] + "f"
    if len(token) > 3 and token.endswith("s") and not token.endswith(("ss", "us")):
        return token[:-1]
    return token


def scale(value: str) -> tuple[int, float] | None:
    """Place a value on an ordinal scale: (scale number, position), or None when it has no order."""
    low = value.lower()
    if low in _LETTERS:
        return 0, float(_LETTERS.index(low))
    for level, words in enumerate(_LEVELS):
        if low in words:
            return 1, float(level)
    match = re.search(r"(\d+(?:\.\d+)?)\s*([a-z]*)", low)
    if match is None:
        return None
    return 2, float(match[1]) * _UNITS.get(match[2], 1.0)


@dataclass(frozen=True)
class Words:
    """One user's text."""

    text: str

    @cached_property
    def tokens(self) -> list[str]:
        """The text's tokens."""
        return normal(self.text)

    @cached_property
    def _joined(self) -> str:
        return " " + " ".join(self.tokens) + " "

    @cached_property
    def sentences(self) -> list[Words]:
        """The text's sentences, in order."""
        parts = re.split(r"(?<=[.!?;:])\s+|\n", self.text)
        return [Words(p) for p in parts if p.strip()]

    def place(self, literal: str) -> int:
        """Return where a literal is first said (a character offset in the normalised text), or -1."""
        wanted = _literal(literal)
        return self._joined.find(f" {wanted} ") if wanted else -1

    def has(self, *literals: str) -> bool:
        """Whether any of the literals is said."""
        return any(self.place(literal) >= 0 for literal in literals)

    def option(self, key: str, value: str) -> int:
        """Return where an option value is said, or -1 ("small" for S, "waterproof" for yes, …)."""
        low = value.lower()
        stem = " ".join(normal(key))
        if low in ("yes", "no"):
            return self._flag(stem, low == "yes")
        if low == "none" or low.startswith("not "):
            places = [self.place(f"{no} {stem}") for no in ("no", "without")] + [self.place(value)]
            return max(places) if low.startswith("not ") else max(places[:2])
        spelled = [value]
        if low in _SIZE_LETTERS:
            spelled = [_SIZE_LETTERS[low], f"size {low}", f"{low} size", f"{low} sized"]
        if low.isdigit():
            spelled = [f"{value} {stem}", f"{stem} {value}"]
        if low.endswith("%"):
            spelled.append(low)
        for tail in (" ssd", " filter", " adapter", " hours", " life"):
            if low.endswith(tail):
                spelled.append(low[: -len(tail)])
        if low in ("hardshell", "softshell"):
            spelled.append(low.removesuffix("shell"))
        found = [p for p in (self.place(s) for s in spelled) if p >= 0]
        return min(found) if found else -1

    def _flag(self, stem: str, yes: bool) -> int:  # noqa: FBT001
        plain = self.place(stem)
        words = stem.split()
        if plain < 0 and len(words) > 1:
            plain = self.place(words[-1].removesuffix("ance") + "ant")
        negated = max(self.place(f"{no} {stem}") for no in ("no", "not", "without", "non"))
        if negated < 0 and len(words) > 1:
            negated = self.place("not " + words[-1].removesuffix("ance") + "ant")
        if yes:
            return plain if negated < 0 else -1
        return negated

    def product(self, name: str) -> bool:
        """Whether a product is named, by its name or by a telling part of it ("camera", "watch")."""
        if self.has(name, *_SPOKEN.get(name, ())):
            return True
        telling = [w for w in _literal(name).split() if len(w) > 2 and w not in _COMMON]
        if any(self.has(w) for w in telling):
            return True
        return any(w.endswith(t) and len(t) > 4 for w in telling for t in self.tokens)

    def about(self, names: Iterable[str]) -> list[tuple[Words, set[str]]]:
        """Return each sentence with the products it is about: those it names, else those before it."""
        found: list[tuple[Words, set[str]]] = []
        current: set[str] = set()
        every = list(names)
        for sentence in self.sentences:
            current = {n for n in every if sentence.product(n)} or current
            found.append((sentence, current))
        return found

    def cued(self, name: str, names: Iterable[str], cue: Callable[[Words], bool]) -> bool:
        """Whether a sentence about a product (or about all items) holds a cue."""
        return any(
            cue(sentence) and (name in products or sentence.has("all item", "all your item"))
            for sentence, products in self.about(names)
        )

    def all_but(self) -> bool:
        """Whether the user wants everything with exceptions."""
        return any(
            s.has("everything", "all item", "all thing") and s.has("except", "but", "keep")
            for s in self.sentences
        )

    def reason(self, reason: str) -> bool:
        """Whether the user gives a reason for cancelling, in these or other words."""
        return self.has(reason, *_REASONS.get(reason, ()))

    def amounts(self) -> list[float]:
        """Return the numbers the user says that look like money, in order."""
        found = []
        for match in re.finditer(r"\$\s?(\d[\d,]*(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*(?:bucks|dollars)", self.text):
            found.append(float((match[1] or match[2]).replace(",", "")))
        for match in re.finditer(
            r"(?:than|to|under|below|over)\s+(\d{2,5}(?:\.\d+)?)\b(?!\s*bar)", self.text
        ):
            found.append(float(match[1]))
        return found

    def measures(self, unit: str) -> list[str]:
        """Return every "number unit" the user says, in order, spelled as a product would ("8 bar")."""
        found = re.findall(rf"(\d+(?:\.\d+)?)\s*{re.escape(unit)}", self.text, re.IGNORECASE)
        return list(dict.fromkeys(found))

    def cheapest(self) -> bool:
        """Whether the user asks for the lowest price."""
        return self.has("cheapest", "lowest price", "least expensive", "save you most", "maximum money")

    def dearest(self) -> bool:
        """Whether the user asks for the highest price."""
        return self.has("most expensive", "dearest", "more expensive")


_SPOKEN = {
    "Espresso Machine": ("coffee machine",),
    "Coffee Maker": ("coffee machine",),
    "Bookshelf": ("book shelf",),
    "Cycling Helmet": ("bike helmet",),
    "Sneakers": ("sneaker",),
}
"""What people say for a product."""

_REASONS = {
    "no longer needed": ("no longer need", "no longer want", "do not need", "don't need"),
    "ordered by mistake": ("by mistake", "mistakenly", "by accident"),
}
"""What people say for a reason."""

_COMMON = {
    "smart", "set", "kit", "machine", "electric", "portable", "digital", "office", "indoor", "action",
    "running", "gaming", "water", "wall", "led", "mechanical", "cycling", "garden", "air", "wireless",
    "tea", "coffee", "tennis", "desk", "pet", "yoga", "patio", "light", "security", "hiking", "maker", "makeup",
}  # fmt: skip
