"""Compiles the ground truth of a task into an intent plan, on the pristine state, once.

For every argument of every call: where can its value come from? From the choice of the tool (a flag, an option
that its documentation names), from the user's words, from what was delivered before, from an expression over
it, or from a read that the ground truth does not show. What comes from nowhere is kept and listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bench2robust.benchmarks.bfcl.functions import ESCALATION, every_function
from bench2robust.benchmarks.bfcl.truth import Step, Truth
from bench2robust.benchmarks.bfcl.world import Blueprint, World
from bench2robust.core.plan import Plan
from bench2robust.core.tools import ToolCall

from .expressions import Expression, Field, Items, Recalled, Said, numbers
from .goals import Read, Turn, Write, facts_of
from .probes import probes
from .search import Known, Search
from .speech import Speech
from .verification import check_of

_PARENT = ".."
"""What every file system calls the directory above."""
_CANNOT = "I cannot do that with the functions I have."
_WHICH = "I need to know more to do that. Could you give me the details?"


def compile_plan(blueprint: Blueprint, truth: Truth, words: Sequence[str]) -> Plan:
    """Return the intent plan of a task.

    Args:
        blueprint: the task and its pristine state.
        truth: its ground truth.
        words: what the user says, turn by turn.
    """
    return _Compiler(blueprint, truth, words).plan()


class _Compiler:
    """One compilation: follows the ground truth on a world of its own."""

    def __init__(self, blueprint: Blueprint, truth: Truth, words: Sequence[str]) -> None:
        self.blueprint, self.truth, self.words = blueprint, truth, words
        self.world = World(blueprint)
        self.known: list[Known] = []
        """Everything delivered so far, newest first."""
        self.reads: dict[str, Read] = {}
        self.answers: set[str] = set()
        """Facts that are answers of writes."""
        self.needed: set[str] = set()
        """Answers of writes that a later argument looks at."""
        self.held: dict[str, tuple[Expression, Any]] = {}
        self.ungrounded: list[str] = []
        self.turn = 0
        self.steps: list[Read | Write] = []
        self.fresh: list[str] = []
        """Facts of this turn that no write has come after."""

    def plan(self) -> Plan:
        """Return the plan."""
        turns = [self._turn(number) for number in range(len(self.truth.turns))]
        return Plan(
            goals=tuple(self._finished(turn) for turn in turns),
            escalate=lambda summary: ToolCall(ESCALATION.name, {"summary": summary}),
            ungrounded=tuple(self.ungrounded),
            notes=tuple(
                f"turn {number}: the reference solution makes no call"
                for number, turn in enumerate(self.truth.turns)
                if not turn.steps
            ),
        )

    def _turn(self, number: int) -> Turn:
        self.turn, self.steps, self.fresh = number, [], []
        self.world.withheld = self.blueprint.withheld(number)
        for place, step in enumerate(self.truth.turns[number].steps):
            self._step(f"{number}.{place}", step)
        report = "" if self.steps else _CANNOT if number + 1 in self.blueprint.entry.missed else _WHICH
        return Turn(tuple(self.steps), report, self.reads, tuple(self.fresh))

    def _finished(self, turn: Turn) -> Turn:
        """Name the answers of writes that turned out to be needed, and forget the other names."""
        return replace(
            turn,
            steps=tuple(
                replace(step, answer="")
                if isinstance(step, Write) and step.answer not in self.needed
                else step
                for step in turn.steps
            ),
        )

    def _step(self, place: str, step: Step) -> None:
        tool = step.call.name
        arguments = {
            name: self._grounded(f"{place}.{tool}.{name}", tool, name, value)
            for name, value in step.call.arguments.items()
        }
        self.world.call(step.call)
        fact = f"{place}.{tool}"
        if step.reads:
            self._add(Read(fact, tool, arguments, step.readings))
        else:
            self._write(fact, step, arguments)
        self.known.insert(0, Known(fact, step.value))
        for name, expression in arguments.items():
            self.held[name] = (expression, step.call.arguments[name])

    def _add(self, read: Read) -> None:
        self.steps.append(read)
        self.reads[read.fact] = read
        self.fresh.append(read.fact)

    def _write(self, fact: str, step: Step, arguments: dict[str, Expression]) -> None:
        tool = step.call.name
        check = check_of(tool, arguments)
        verify, before = None, ""
        if check is not None and self._offered(check.tool):
            verify = Read(f"{fact}/now", check.tool, check.arguments(arguments))
            if check.before:
                before = f"{fact}/before"
                self._add(replace(verify, fact=before, optional=True))
        used = dict.fromkeys(
            f for f in (*facts_of(arguments), *self.fresh) if f in self.fresh and f != before
        )
        self.steps.append(
            Write(
                tool,
                arguments,
                answer=fact,
                ways=step.writings,
                used=tuple(used),
                verify=verify,
                happened=check.happened if verify is not None and check is not None else None,
                before=before,
            )
        )
        self.answers.add(fact)
        self.fresh.clear()

    def _offered(self, tool: str) -> bool:
        return tool in self.blueprint.tools and tool not in self.world.withheld

    def _grounded(self, what: str, tool: str, name: str, value: Any) -> Expression:
        """Return where a value comes from; a read that it takes becomes a step."""
        function = every_function()[tool]
        schema = function.spec.parameters["properties"].get(name, {})
        search = self._search(function.spec.description)
        if _is_choice(value, schema) or (_documented(value, schema) and not search.now.says(value)):
            return Said(value)
        made = self._created(name, value)
        found = made or search.find(value)
        if found is None:
            found = self._explored(search, value)
        if found is None:
            self.ungrounded.append(what)
            return Said(value)
        self.needed.update(fact for fact in found.facts() if fact in self.answers)
        return found

    def _search(self, description: str) -> Search:
        return Search(
            now=Speech(self.words[self.turn]),
            before=Speech("\n".join(self.words[: self.turn])),
            known=self.known,
            figures=frozenset(float(n) for n in numbers(description)),
        )

    def _created(self, name: str, value: Any) -> Expression | None:
        """Return what an earlier write answered, for the id or token of something that it made."""
        if not name.endswith(("_id", "token")):
            return None
        made = [known for known in self.known if known.fact in self.answers]
        found = Search(Speech(""), Speech(""), made).delivered(value) if made else None
        if not isinstance(found, Field) or not found.path:
            return None
        other = self._explored(self._search(""), value, only_plain=True)
        return Recalled(found, other) if isinstance(other, Field) else found

    def _explored(self, search: Search, value: Any, *, only_plain: bool = False) -> Expression | None:
        """Return a field of a read that the ground truth does not show."""
        if isinstance(value, list):
            items = [search.find(item) or self._explored(search, item) for item in value]
            return (
                None
                if None in items or not items
                else Items(tuple(item for item in items if item is not None))
            )
        names = iter(()) if only_plain else Speech("\n".join(self.words[: self.turn + 1])).names()
        for probe in probes(self.world, self._offered, names, self.held):
            fact = f"{self.turn}.{len(self.steps)}.{probe.tool}?"
            found = replace(search, known=[Known(fact, probe.value)]).delivered(value)
            if found is None:
                continue
            read = Read(fact, probe.tool, probe.arguments)
            if only_plain:
                self.reads[fact] = read
            else:
                self._add(read)
                self.known.insert(0, Known(fact, probe.value))
            return found
        return None


def _is_choice(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is a flag, or one of the options that the parameter's documentation lists."""
    if isinstance(value, bool) or value == schema.get("default", object()) or value in ("", [], _PARENT):
        return True
    if isinstance(value, list):
        return bool(value) and all(_is_choice(item, schema) for item in value)
    if not isinstance(value, str):
        return False
    description = schema.get("description", "") + " " + schema.get("items", {}).get("description", "")
    return value in schema.get("enum", ()) or value in _options(description)


def _options(description: str) -> frozenset[str]:
    """Return what a description lists as options."""
    listed = re.search(r"(?:\[Enum\]:|[Oo]ptions(?: are)?:?|Mode of operation|\()(.*)", description)
    return frozenset(re.findall(r"[A-Za-z_]+", listed[1])) if listed else frozenset()


def _documented(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a number is one that the parameter's documentation names, such as a pedal pressed fully."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return float(value) in {float(n) for n in numbers(schema.get("description", ""))}
