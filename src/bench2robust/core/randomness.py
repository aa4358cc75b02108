"""Keyed randomness: every random number is a pure function of *what it is for*.

A draw is named by a path such as ``(seed, task, "noise", tool, ordinal)`` and hashed with
blake2b. Order, process, concurrency and ``PYTHONHASHSEED`` cannot change it, and adding a draw
somewhere never shifts another. There is no other source of randomness in this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from struct import Struct
from typing import TypeVar

T = TypeVar("T")
Part = str | int

_SCALE = 2.0**-53
_BYTES = 64
_PER_BLOCK = _BYTES // 8
_words = Struct(f">{_PER_BLOCK}Q").unpack


def encode(path: Sequence[Part]) -> bytes:
    """Encode a path so that different paths never share bytes (each part carries type and length)."""
    out = []
    for part in path:
        text = str(part).encode()
        out.append(b"%c%d:" % (105 if isinstance(part, int) else 115, len(text)))
        out.append(text)
    return b"".join(out)


def unit(word: bytes) -> float:
    """Map eight bytes to a float in [0, 1) with 53 random bits."""
    return (int.from_bytes(word, "big") >> 11) * _SCALE


class Draws:
    """An endless stream of numbers for one path.

    >>> a = Draws(0, "task 1", "noise", "get_order", 1)
    >>> b = Draws(0, "task 1", "noise", "get_order", 1)
    >>> a.uniform() == b.uniform()
    True
    """

    __slots__ = ("_blocks", "_key", "_place", "_words")

    def __init__(self, *path: Part) -> None:
        self._key = encode(path)
        self._blocks = 0
        self._words: Sequence[int] = ()
        self._place = _PER_BLOCK

    def uniform(self) -> float:
        """Return the next number in [0, 1)."""
        place = self._place
        if place == _PER_BLOCK:
            block = blake2b(self._key, digest_size=_BYTES, salt=b"%d" % self._blocks).digest()
            self._words = _words(block)
            self._blocks += 1
            place = 0
        self._place = place + 1
        return (self._words[place] >> 11) * _SCALE

    def between(self, low: float, high: float) -> float:
        """Return the next number in [low, high)."""
        return low + (high - low) * self.uniform()

    def index(self, n: int) -> int:
        """Return the next integer in [0, n)."""
        return int(self.uniform() * n)

    def choice(self, items: Sequence[T]) -> T:
        """Return one of `items`, each equally likely."""
        return items[self.index(len(items))]

    def weighted(self, weights: Sequence[float]) -> int:
        """Return an index with probability proportional to its weight (a zero weight is never drawn)."""
        at = self.uniform() * sum(weights)
        last = 0
        for i, weight in enumerate(weights):
            if weight > 0:
                last = i
                if at < weight:
                    return i
                at -= weight
        return last

    def some(self, items: Sequence[T]) -> list[T]:
        """Return a non-empty subset: each item with probability one half, one of them if none came."""
        picked = [item for item in items if self.uniform() < 0.5]
        return picked or [self.choice(items)]


class Series:
    """The streams of ``(*path, 0)``, ``(*path, 1)``, …, with the shared path hashed only once.

    >>> series = Series(0, "task 1", "noise", "get_order")
    >>> block = series.block(3)
    >>> same = Draws(0, "task 1", "noise", "get_order", 3)
    >>> unit(block[:8]) == same.uniform()
    True
    >>> series.after_first(3, block).uniform() == same.uniform()
    True
    """

    __slots__ = ("_key", "_state")

    def __init__(self, *path: Part) -> None:
        self._key = encode(path)
        self._state = blake2b(self._key, digest_size=_BYTES, salt=b"0")

    def block(self, n: int) -> bytes:
        """Return the bytes behind the first numbers of stream `n`; `unit` of the first eight is the first."""
        state = self._state.copy()
        text = b"%d" % n
        state.update(b"i%d:%b" % (len(text), text))
        return state.digest()

    def after_first(self, n: int, block: bytes) -> Draws:
        """Return stream `n` with its first number taken; `block` is what `block(n)` returned."""
        draws = Draws.__new__(Draws)
        draws._key = self._key + encode((n,))
        draws._blocks, draws._words, draws._place = 1, _words(block), 1
        return draws
