"""How many requests may be on their way to one address: less when it says that it has too much to do."""

from __future__ import annotations

import asyncio
from collections import deque

_LESS = 0.7
"""What an address's limit is multiplied by when it is overloaded."""


class Throttle:
    """A gate (`agents.chat.endpoint.Gate`) with an adaptive limit.

    It begins wide open. A refusal for overload makes the limit smaller by a factor, every other end of a
    request makes room for a fraction of one more, so a full round for about one (additive increase,
    multiplicative decrease; Chiu and Jain 1989). The requests that were on their way when the limit was
    made smaller tell nothing new, so their refusals do not count.

    Args:
        most: the limit that is never passed, at least 1.
    """

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self.active = 0
        """Requests on their way."""
        self._most = most
        self._stale = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Wait until one more request may be made; first come, first served."""
        if self.active < int(self.limit) and not self._waiting:
            self.active += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.active -= 1  # the turn had just come
                self._admit()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def leave(self, *, throttled: bool) -> None:
        """One request has ended, whatever came of it; `throttled` where the server had too much to do."""
        self.active -= 1
        stale = self._stale > 0
        self._stale = max(0, self._stale - 1)
        if not throttled:
            self.limit = min(self._most, self.limit + 1 / self.limit)
        elif not stale:
            self.limit = max(1.0, self.limit * _LESS)
            self._stale = self.active
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.active < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.active += 1
                turn.set_result(None)
