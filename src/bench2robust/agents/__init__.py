"""Who acts: the reference policies, and the two agents that certify the impossible.

A policy reads delivered texts (`core.reading`), follows a compiled plan (`walk`), and differs from the
others in how it recovers (`reference`).
"""

from __future__ import annotations

from dataclasses import replace

from bench2robust.core.errors import UnknownNameError
from bench2robust.core.ports import Agent
from bench2robust.memory.knowledge import Knowledge

from .bayes import Bayes
from .certificate import Adversary, Idle
from .reader import Reader
from .reference import REFERENCES, Informed, Reference
from .users import GREETING, NOTHING_TO_ADD, Scripted, scripted, ticket
from .verification import BayesVerified, StrategicVerified

_READER = Reference("reader", Reader)
_AGENTS: dict[str, Agent] = {agent.name: agent for agent in (*REFERENCES, _READER, Adversary(), Idle())}
_INFORMED: dict[str, Informed] = {
    agent.name: agent
    for agent in (
        Informed("strategic-verified", StrategicVerified),
        Informed("bayes", Bayes),
        Informed("bayes-verified", BayesVerified),
    )
}

NAMES = (*_AGENTS, *_INFORMED)
"""Every agent that `create` knows."""
REFERENCE = tuple(agent.name for agent in REFERENCES)
"""The reference policies that are told nothing, from the weakest to the ceiling."""
INFORMED = tuple(_INFORMED)
"""The reference policies that are told what holds for every episode of a run (`memory.knowledge`)."""
PLANNED = (*REFERENCE, *INFORMED, _READER.name)
"""The agents that follow a compiled plan."""

__all__ = [
    "GREETING",
    "INFORMED",
    "NAMES",
    "NOTHING_TO_ADD",
    "PLANNED",
    "REFERENCE",
    "Scripted",
    "create",
    "scripted",
    "ticket",
]


def create(name: str, knowledge: Knowledge | None = None) -> Agent:
    """Return the agent of that name (agents hold no state: an episode's state is in its play).

    Args:
        name: one of `NAMES`.
        knowledge: what the `INFORMED` are told; they cannot play without it. Of no use to the others.

    Raises:
        UnknownNameError: nobody has that name.
    """
    if name in _INFORMED:
        return replace(_INFORMED[name], knowledge=knowledge)
    try:
        return _AGENTS[name]
    except KeyError:
        raise UnknownNameError("agent", name, NAMES) from None
