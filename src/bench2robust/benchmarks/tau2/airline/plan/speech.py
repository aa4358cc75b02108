"""What the user's words say in an airline's terms: places, dates, times, cabins, cards, people.

Lexical, like `plan.words`: a match says what the user could have meant; the compiler checks every
selector against gold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from bench2robust.benchmarks.tau2.plan.words import Words

_CITIES: Mapping[str, tuple[str, ...]] = {
    "new york city": ("JFK", "LGA", "EWR"), "new york": ("JFK", "LGA", "EWR"), "ny": ("JFK", "LGA", "EWR"),
    "nyc": ("JFK", "LGA", "EWR"), "san francisco": ("SFO",), "sf": ("SFO",), "los angeles": ("LAX",),
    "chicago": ("ORD",), "dallas": ("DFW",), "denver": ("DEN",), "seattle": ("SEA",), "atlanta": ("ATL",),
    "miami": ("MIA",), "boston": ("BOS",), "phoenix": ("PHX",), "houston": ("IAH",), "las vegas": ("LAS",),
    "vegas": ("LAS",), "orlando": ("MCO",), "newark": ("EWR",), "charlotte": ("CLT",), "minneapolis": ("MSP",),
    "detroit": ("DTW",), "philadelphia": ("PHL",), "laguardia": ("LGA",), "la guardia": ("LGA",),
    "texas": ("DFW", "IAH"), "florida": ("MIA", "MCO"), "california": ("LAX", "SFO"),
    "west coast": ("SEA", "SFO", "LAX"), "east coast": ("BOS", "JFK", "LGA", "EWR", "PHL", "MIA", "MCO", "CLT"),
}  # fmt: skip
"""What people call the airports' cities and regions; the codes are those of `list_all_airports`."""
AIRPORTS = frozenset(code for codes in _CITIES.values() for code in codes)
_MONTHS = {name: n for n, name in enumerate(("jan", "feb", "mar", "apr", "may", "jun"), 1)}
_CABINS = (
    ("basic economy", "basic_economy"),
    ("basic_economy", "basic_economy"),
    ("economy", "economy"),
    ("business", "business"),
)
_BRANDS = {"master card": "mastercard", "mastercard": "mastercard", "visa": "visa"}
_VERBS = {
    "cancel": r"cancel\w*",
    "change": r"chang\w*|modif\w*|mov(?:e|ing)\b|push\w*|switch\w*|upgrad\w*|downgrad\w*|resched\w*|delay by",
    "book": r"\bbook(?:ing)?\b(?! process)|make a reservation",
    "bags": r"\bbags?\b|baggages?|suitcases?|luggage",
    "people": r"passengers?\b|\bname\b",
}


@dataclass(frozen=True)
class Said:
    """One thing said, and where."""

    at: int
    value: str


@dataclass(frozen=True)
class Speech:
    """One user's text."""

    text: str

    @cached_property
    def words(self) -> Words:
        """The text, for literal matching."""
        return Words(self.text)

    @cached_property
    def low(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    def cue(self, pattern: str) -> bool:
        """Whether a pattern (lower case) is found."""
        return re.search(pattern, self.low) is not None

    @cached_property
    def places(self) -> list[tuple[int, tuple[str, ...]]]:
        """Every place said, in order, as (where, airports): codes, cities, regions."""
        found: list[tuple[int, tuple[str, ...]]] = [
            (m.start(), (m[0],)) for m in re.finditer(r"\b[A-Z]{3}\b", self.text) if m[0] in AIRPORTS
        ]
        taken: list[tuple[int, int]] = []
        for name in sorted(_CITIES, key=len, reverse=True):
            for match in re.finditer(rf"\b{name}\b", self.low):
                if not any(start <= match.start() < end for start, end in taken):
                    taken.append(match.span())
                    found.append((match.start(), _CITIES[name]))
        return sorted(found)

    def airports_for(self, code: str) -> list[tuple[str, ...]]:
        """Return the sets of airports that the user's words give for an airport, the narrowest first.

        Codes that stand together ("either EWR or JFK") are one set.
        """
        sets: dict[tuple[str, ...], None] = {}
        codes = [
            (at, found[0])
            for at, found in self.places
            if len(found) == 1 and self.text[at : at + 3] == found[0]
        ]
        for i, (at, first) in enumerate(codes):
            together = [first]
            for at_next, other in codes[i + 1 :]:
                if re.fullmatch(r"\s*(?:or|and|/|,)\s*", self.text[at + 3 : at_next]):
                    together.append(other)
                    at = at_next
            if code in together and len(together) > 1:
                sets[tuple(together)] = None
        for _, found in self.places:
            if code in found:
                if code == "JFK" and len(found) > 1:
                    sets[("JFK",)] = None  # the city's own airport; the others are Newark's and LaGuardia's
                sets[found] = None
        return list(sets)

    @cached_property
    def dates(self) -> list[Said]:
        """Every date said, as YYYY-MM-DD, in order ("May 20", "May 22nd", "the 19th", "2024-05-20")."""
        found = [Said(m.start(), m[0]) for m in re.finditer(r"2024-\d\d-\d\d", self.text)]
        months = "|".join(_MONTHS)
        for m in re.finditer(rf"\b({months})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b", self.low):
            found.append(Said(m.start(), f"2024-{_MONTHS[m[1]]:02d}-{int(m[2]):02d}"))
        for m in re.finditer(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({months})[a-z]*\b", self.low):
            found.append(Said(m.start(), f"2024-{_MONTHS[m[2]]:02d}-{int(m[1]):02d}"))
        for m in re.finditer(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b(?! of)", self.low):
            found.append(Said(m.start(), f"2024-05-{int(m[1]):02d}"))
        return sorted(found, key=lambda said: said.at)

    @cached_property
    def windows(self) -> list[tuple[str, str]]:
        """Every bound on times of day, as (kind, HH:MM:SS); kinds: after, before, arrive_before, arrive_after."""
        found = []
        pattern = (
            r"(not [a-z ]{0,20}before|no earlier than|after|later than|not [a-z ]{0,20}after|before|no later than|earlier than|by)"
            r"\s+(\d{1,2})(?::(\d\d))?\s*([ap])\.?m"
        )
        for m in re.finditer(pattern, self.low):
            hour = int(m[2]) % 12 + (12 if m[4] == "p" else 0)
            low = m[1].startswith(("after", "later", "no earlier")) or (
                m[1].startswith("not") and m[1].endswith("before")
            )
            sentence = re.split(r"[.!?;\n]", self.low[: m.start()])[-1]
            arrival = "arriv" in sentence or "land" in sentence
            kind = ("arrive_" if arrival else "") + ("after" if low else "before")
            found.append((kind, f"{hour:02d}:{m[3] or '00'}:00"))
        return found

    @cached_property
    def flight_numbers(self) -> tuple[str, ...]:
        """Every flight number said."""
        return tuple(dict.fromkeys(re.findall(r"\bHAT\d{3}\b", self.text)))

    def literals(self, values: Iterable[str]) -> list[Said]:
        """Return which of the values (ids) the text holds, in the order said."""
        found = [Said(self.text.find(value), value) for value in values if value and value in self.text]
        return sorted(found, key=lambda said: said.at)

    def verb(self, at: int) -> str:
        """Return what is to be done with something said at a place: the last verb before it, or empty."""
        before = self.low[:at]
        last = {kind: [m.start() for m in re.finditer(pattern, before)] for kind, pattern in _VERBS.items()}
        places = {
            kind: found[-1] for kind, found in last.items() if found and kind in ("cancel", "change", "book")
        }
        return max(places, key=lambda kind: places[kind]) if places else ""

    def cabins(self) -> list[Said]:
        """Every cabin said, in order."""
        found: list[Said] = []
        taken: list[tuple[int, int]] = []
        for spoken, cabin in _CABINS:
            for match in re.finditer(rf"\b{spoken}\b", self.low):
                if not any(start <= match.start() < end for start, end in taken):
                    taken.append(match.span())
                    found.append(Said(match.start(), cabin))
        return sorted(found, key=lambda said: said.at)

    def bags(self) -> list[int]:
        """Every number of bags said, in order; 0 for "no baggage"."""
        found = []
        number = r"(\d+|a|an|one|two|three|four|five|six)"
        kinds = r"(?:more |additional |extra |free |non-free |paid |checked |check-in |total )*"
        for m in re.finditer(
            rf"\b{number} {kinds}(?:bags?|baggages?|suitcases?|luggages?|pieces? of luggage)\b", self.low
        ):
            found.append(_NUMBERS.get(m[1], 0) or int(m[1]))
        if self.cue(r"\b(?:no|not|n't|without)\b[a-z ,]{0,30}\b(?:bag|luggage|suitcase)"):
            found.append(0)
        return found

    def amounts(self) -> list[int]:
        """Every amount of money said, in whole dollars, in order."""
        found = re.findall(r"\$\s?(\d[\d,]*)|(\d[\d,]*) ?(?:dollars?|bucks)", self.low)
        return list(dict.fromkeys(int((a or b).replace(",", "")) for a, b in found))

    def last_four(self, cards: Mapping[str, str]) -> list[str]:
        """Return the four digits (of `cards`, id to digits) that the user says."""
        return [digits for digits in cards.values() if digits and re.search(rf"\b{digits}\b", self.text)]

    def brand(self) -> str:
        """The brand of card that is said, or empty."""
        return next((brand for spoken, brand in _BRANDS.items() if spoken in self.low), "")

    def person(self, first: str, last: str = "") -> bool:
        """Whether a person is named, by the first name or by the whole."""
        return re.search(rf"\b{re.escape(f'{first} {last}'.strip())}\b", self.text) is not None


_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}


def minutes(clock: str) -> int:
    """Minutes since midnight of a time of day such as ``01:30:00+1`` (``+1`` is the next day)."""
    match = re.match(r"(\d\d):(\d\d)", clock)
    if match is None:
        return 0
    return int(match[1]) * 60 + int(match[2]) + (24 * 60 if "+1" in clock else 0)
