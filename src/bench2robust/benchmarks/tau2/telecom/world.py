"""Where a telecom episode starts: the carrier's database and the user's phone, after τ²'s preparations.

A task's preparations (break the APN settings, suspend the line, …) run once; every episode of the task
starts from fresh objects built from what they left (60 µs), so episodes share nothing that can change.

One thing τ² shares by mistake is kept apart here: ``TelecomUserTools.default_vpn_details`` belongs to
the class, and ``break_vpn`` writes to it, so that in τ² one task's broken VPN is every later task's
default. Within an episode it behaves as in τ².
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.benchmarks.tau2.provider import TelecomCode, TelecomData
from bench2robust.core.episode import Task
from bench2robust.core.errors import BenchmarkError

_BASES = frozenset({"ENV_ASSERTION", "ACTION"})
_FIXED = {"plans", "devices"}
"""Tables that no tool changes: episodes share their records."""


@dataclass(frozen=True, slots=True)
class Start:
    """What every episode of a task begins with, and is judged by."""

    code: TelecomCode
    db: Mapping[str, Any]
    user_db: Mapping[str, Any]
    default_vpn: Mapping[str, Any]
    assertions: tuple[Any, ...] | None
    """τ²'s assertions on the live world; None where they are not part of the reward."""
    actions: tuple[Mapping[str, Any], ...] | None
    """The gold actions that have to be made; None where they are not part of the reward."""

    def open(self) -> Any:
        """Return τ²'s environment, on objects of its own."""
        world = _assemble(self.code, self.db, self.user_db)
        world.user_tools.default_vpn_details = type(world.user_tools.default_vpn_details)(**self.default_vpn)
        return world


def prepare(code: TelecomCode, data: TelecomData, task: Task) -> Start:
    """Carry out what τ² does to the world before a task.

    Raises:
        BenchmarkError: the task is not one of τ² telecom's, or asks for what is not supported here (a
            conversation that has already begun; a reward by database hash or by a model's judgement).
    """
    try:
        state, criteria = task.data.get("initial_state") or {}, task.data["evaluation_criteria"]
        basis = frozenset(criteria["reward_basis"])
    except (KeyError, TypeError, AttributeError) as error:
        raise BenchmarkError(f"expected a τ² telecom task, got id={task.id!r} ({error!r})") from error
    if state.get("message_history") or not basis <= _BASES:
        raise BenchmarkError(
            f"expected no message history and a reward by {sorted(_BASES)}, got id={task.id!r} with"
            f" reward_basis={sorted(basis)}"
        )
    world = _assemble(code, data.db, data.user_db)
    default = world.user_tools.default_vpn_details
    world.user_tools.default_vpn_details = default.model_copy(
        update={"server_performance": type(default.server_performance)("excellent")}
    )
    before = state.get("initialization_data")
    world.set_state(
        None if before is None else code.tasks.InitializationData.model_validate(before),
        [code.tasks.EnvFunctionCall.model_validate(a) for a in state.get("initialization_actions") or ()],
        [],
    )
    db = world.tools.db
    assertions = [code.tasks.EnvAssertion.model_validate(a) for a in criteria.get("env_assertions") or ()]
    return Start(
        code=code,
        db={**db.model_dump(exclude=_FIXED), **{name: list(getattr(db, name)) for name in _FIXED}},
        user_db=world.user_tools.db.model_dump(),
        default_vpn=world.user_tools.default_vpn_details.model_dump(),
        assertions=tuple(assertions) if "ENV_ASSERTION" in basis else None,
        actions=tuple(criteria.get("actions") or ()) if "ACTION" in basis else None,
    )


def _assemble(code: TelecomCode, db: Mapping[str, Any], user_db: Mapping[str, Any]) -> Any:
    tools = code.tools(code.db.model_validate(db))
    user_tools = code.user_tools(code.user_db.model_validate(user_db))
    return code.environment("telecom", "", tools, user_tools)
