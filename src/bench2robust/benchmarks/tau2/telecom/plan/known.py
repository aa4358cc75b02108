"""What the user says of who they are and where."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"\bYou are ((?:[A-Z][\w'.-]*)(?: [A-Z][\w'.-]*)+)")
_PHONE = re.compile(r"\b\d{3}-\d{3}-\d{4}\b")
_CUSTOMER = re.compile(r"\bC\d{4,}\b")
_BIRTH = re.compile(r"\bborn\b\D{0,20}(\d{4}-\d{2}-\d{2})\b")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*GB\b")


@dataclass(frozen=True, slots=True)
class Known:
    """What the user says at once; empty where they do not."""

    name: str = ""
    phone: str = ""
    customer_id: str = ""
    birth: str = ""
    abroad: bool = False

    @classmethod
    def of(cls, words: str) -> Known:
        """Read the user's words.

        >>> Known.of("You are Ann Lee with phone number 555-123-0000. You are currently abroad.")
        Known(name='Ann Lee', phone='555-123-0000', customer_id='', birth='', abroad=True)
        """
        name, birth = _NAME.search(words), _BIRTH.search(words)
        phone, customer = _PHONE.search(words), _CUSTOMER.search(words)
        return cls(
            name=name[1] if name else "",
            phone=phone[0] if phone else "",
            customer_id=customer[0] if customer else "",
            birth=birth[1] if birth else "",
            abroad="abroad" in words.lower(),
        )


def gigabytes(words: str) -> float | None:
    """Return the first amount of data that a text says, in GB."""
    said = _AMOUNT.search(words)
    return float(said[1]) if said else None
