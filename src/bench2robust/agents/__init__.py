"""Who acts: the reference policies, and the two agents that certify the impossible.

A policy reads delivered texts (`core.reading`), follows a compiled plan (`walk`), and differs from the
others in how it recovers (`reference`).
"""

from __future__ import annotations

from bench2robust.core.errors import UnknownNameError
from bench2robust.core.ports import Agent

from .certificate import Adversary, Idle
from .reference import REFERENCES
from .users import GREETING, NOTHING_TO_ADD, Scripted, scripted, ticket

_AGENTS: dict[str, Agent] = {agent.name: agent for agent in (*REFERENCES, Adversary(), Idle())}

NAMES = tuple(_AGENTS)
"""Every agent that `create` knows."""
REFERENCE = tuple(agent.name for agent in REFERENCES)
"""The reference policies, from the weakest to the ceiling."""

__all__ = ["GREETING", "NAMES", "NOTHING_TO_ADD", "REFERENCE", "Scripted", "create", "scripted", "ticket"]


def create(name: str) -> Agent:
    """Return the agent of that name (agents hold no state: an episode's state is in its play).

    Raises:
        UnknownNameError: nobody has that name.
    """
    try:
        return _AGENTS[name]
    except KeyError:
        raise UnknownNameError("agent", name, NAMES) from None
