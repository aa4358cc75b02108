"""What a generated user wants: writes, and the words for each detail of them.

A `Wish` is one write with the phrases that say it. Each detail (which order, which item, …) is a
`Detail`: the phrase that says it, the vaguer phrase that stands in its place while the user withholds
it, and what the user answers when asked. Phrases are in the second person ("your order"), as τ² writes
its scenarios; `mine` turns them into what the user says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench2robust.core.tools import ToolCall


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing that an agent has to know for a write."""

    text: str
    """Says it."""
    vague: str = ""
    """Stands in its place while it is withheld."""
    answer: str = ""
    """Says it when asked; empty where it may not be withheld (the rest would give it away)."""


@dataclass(frozen=True, slots=True)
class Wish:
    """One write that the user wants."""

    call: ToolCall
    frames: tuple[str, ...]
    """Ways to say it after "You want to", with a place for each detail, such as ``cancel {order}``."""
    details: Mapping[str, Detail] = field(default_factory=dict)
    """Kind of detail to the detail."""
    subject: str = ""
    """What an answer calls this wish ("the return"), where the user wants several things."""

    @property
    def can_withhold(self) -> frozenset[str]:
        """The kinds of detail that the user may keep back."""
        return frozenset(kind for kind, detail in self.details.items() if detail.answer)

    def say(self, frame: str, withheld: frozenset[str] = frozenset()) -> str:
        """Return the wish in the words of a frame, with the withheld details left vague."""
        parts = {
            kind: detail.vague if kind in withheld and detail.answer else detail.text
            for kind, detail in self.details.items()
        }
        return tidy(frame.format(**parts))


@dataclass(frozen=True, slots=True)
class Person:
    """How the user proves who they are."""

    user_id: str
    known: str
    """What they know, such as their e-mail address."""
    unknown: str


@dataclass(frozen=True, slots=True)
class Errand:
    """Everything one user wants in one conversation."""

    person: Person
    wishes: tuple[Wish, ...]
    ask: str = ""
    """What the user wants to be told, empty for nothing ("You also want to know …")."""
    tell: tuple[str, ...] = ()
    """The values that answer it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """An errand with one wish that the policy forbids."""

    errand: Errand
    """The wishes that are allowed, to be carried out; may be none."""
    wish: Wish
    """The one that is not."""
    rule: str
    """Name of the policy rule that it breaks."""
    forbidden: Mapping[str, Any]
    """The arguments that make a call of the wish's tool the forbidden one."""
    facts: Mapping[str, Any]
    """What the rule is about, for the compiler of the plan."""


_FIRST_PERSON = (
    (r"\bYou know (?:that )?your\b", "My"),
    (r"\b(told|of|for|to|with|from|at|by) you\b", r"\1 me"),
    (r"\bYou are\b", "I am"),
    (r"\byou are\b", "I am"),
    (r"\bYou're\b", "I'm"),
    (r"\byourself\b", "myself"),
    (r"\byours\b", "mine"),
    (r"\bYour\b", "My"),
    (r"\byour\b", "my"),
    (r"\b[Yy]ou\b", "I"),
)


def mine(text: str) -> str:
    """Turn a text about "you" into what the user says.

    >>> mine("You want to cancel your order.")
    'I want to cancel my order.'
    >>> mine("A friend told you to call. You know your email address is a@b.org.")
    'A friend told me to call. My email address is a@b.org.'
    """
    for pattern, said in _FIRST_PERSON:
        text = re.sub(pattern, said, text)
    return text


def tidy(text: str) -> str:
    """Remove the double spaces and stray commas that an empty detail leaves."""
    text = " ".join(text.split())
    return re.sub(r" ([,.])", r"\1", text)


def sentence(text: str) -> str:
    """Make a sentence of a text."""
    text = tidy(text)
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def listed(parts: list[str]) -> str:
    """Join with commas and "and".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
