"""Texts that models are given; golden files in the tests hold what becomes of them."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files


@cache
def read(name: str) -> str:
    """Return a text, without the newline at its end."""
    return files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


@lru_cache(maxsize=64)
def agent_prompt(policy: str, memory: str = "", *, ends: bool) -> str:
    """Return the system prompt of an agent.

    Args:
        policy: the benchmark's.
        memory: the block of Bayesian Tool Memory, which comes last; empty for none.
        ends: whether the agent says when the conversation is over; else the user does.
    """
    parts = [read("agent"), *([read("ending")] if ends else []), f"<policy>\n{policy.strip()}\n</policy>"]
    if memory:
        parts.append(memory)
    return "\n\n".join(parts)


def user_prompt(instructions: str, *, tools: bool) -> str:
    """Return the system prompt of a simulated user, after τ²-bench's guidelines for one.

    Args:
        instructions: the task's.
        tools: whether the user can act too.
    """
    parts = [read("user"), *([read("user_tools")] if tools else [])]
    return "\n\n".join([*parts, f"<scenario>\n{instructions.strip()}\n</scenario>"])
