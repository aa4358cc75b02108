"""Compiles a telecom task: gold says which faults to look for, the user's words what counts as solved.

Nothing else of gold is used: no id, no amount, and no action that phone and records do not call for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bench2robust.core.episode import Task
from bench2robust.core.plan import Decision, Done, Facts, Plan, Stuck

from .desk import Desk, NoMatch, Wanting
from .known import Known
from .steps import STEPS, Step, escalate

_REBOOT = "reboot_device"


@dataclass(frozen=True, slots=True)
class Proof:
    """What shows that the user's trouble is over."""

    cue: str
    """What the user's words say of the trouble."""
    look: str
    """The call that shows it."""
    good: str
    """A pattern of what it shows then."""


PROOFS = (
    Proof(r"\bMMS\b", "can_send_mms()", r"\bcan send MMS"),
    Proof(r"mobile data|internet", "run_speed_test()", r"\(Excellent\)"),
    Proof(r"No Service|signal", "check_status_bar()", r"📶"),
)
"""The first whose cue the opening words have counts."""


@dataclass(frozen=True, slots=True)
class Resolve:
    """Go through the steps, then have the user look whether the trouble is over.

    If it is not, though every step is done, something that was read must have been wrong: the goal is
    stuck with what it read, and a policy that reads again goes through the steps again.
    """

    known: Known
    steps: tuple[Step, ...]
    proof: Proof | None

    def decide(self, facts: Facts, done: int) -> Decision:
        """Return what to do now."""
        desk = Desk(self.known, facts, done)
        try:
            desk.customer_id()
            for step in self.steps:
                step(desk)
            over = self.proof is None or self._over(desk, self.proof, done)
        except Wanting as wanting:
            return wanting.decision
        except NoMatch as problem:
            return Stuck(str(problem), tuple(desk.used))
        return Done() if over else Stuck("the phone still shows the trouble", tuple(desk.used))

    def _over(self, desk: Desk, proof: Proof, done: int) -> bool:
        question = f"Please run {proof.look} and tell me what it shows now."
        return re.search(proof.good, desk.hear(f"{proof.look} after {done}", question)) is not None


def compile_plan(task: Task) -> Plan:
    """Compile a task's gold solution."""
    opening = task.script.opening if task.script else task.instructions
    names = [action.call.name for action in task.gold]
    steps = tuple(dict.fromkeys(STEPS[name] for name in names if name in STEPS))
    proof = next((proof for proof in PROOFS if re.search(proof.cue, opening)), None)
    notes = tuple(
        f"no step for gold action {n}" for n in dict.fromkeys(names) if n not in STEPS and n != _REBOOT
    )
    return Plan((Resolve(Known.of(opening), steps, proof),), escalate, notes=notes)
