"""One episode of BFCL multi-turn: own instances, tools that come during it, the verdict on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench2robust.core.episode import Message, Score, Task, Trajectory
from bench2robust.core.ports import User
from bench2robust.core.tools import ToolCall, ToolResponse, ToolSpec

from .scoring import judge
from .truth import Truth
from .world import Blueprint, State, World


class BfclEnvironment:
    """One episode's own copy of a task's API classes (`core.ports.Environment`, `DualControl`, `OwnTools`).

    The user of miss_func acts in the environment: with a new turn they hand out functions. So the
    environment has to know the turns, and brings its user along; whoever plays an episode without
    `user` says `begin` at every turn.

    Args:
        blueprint: what the task's episodes start from.
        truth: returns the ground truth (called when scoring).
        task: who the user is.
    """

    __slots__ = ("_blueprint", "_calls", "_states", "_task", "_tools", "_truth", "_turn", "_world")

    def __init__(self, blueprint: Blueprint, truth: Callable[[], Truth], task: Task) -> None:
        self._blueprint = blueprint
        self._truth = truth
        self._task = task
        self._world = World(blueprint)
        self._calls = 0
        self._states: dict[int, State] = {}
        self._turn = 0
        self._tools = list(blueprint.specs)
        self._offer()

    @property
    def offered(self) -> Sequence[ToolSpec]:
        """The task's tools that there are now, without the functions held out; grows when a turn brings some."""
        return self._tools

    def call(self, call: ToolCall) -> ToolResponse:
        """Execute a call. Every error is a response with ``error=True``, in the words of BFCL's executor."""
        self._calls += 1
        return self._world.call(call)

    def score(self, trajectory: Trajectory) -> Score:
        """Judge the live state at the end of each turn, and what was delivered (`scoring`).

        Raises:
            BenchmarkError: the trajectory is not that of this environment.
        """
        self._note()
        return judge(self._blueprint, self._truth(), trajectory, self._states)

    def changes(self) -> State:
        """Return the public state now, which is what BFCL compares."""
        return self._world.state

    def begin(self, turn: int) -> None:
        """Start a turn of the user's, from 0; functions that it brings exist from now on.

        The one before it ends here; after the last turn, one more is begun in which nothing is said.
        """
        self._note()
        self._turn = turn
        self._offer()

    def user(self) -> User:
        """Return the episode's user, whose turns this environment follows."""
        return TurnTaker(self._task, self.begin)

    def acts(self) -> Sequence[Message]:
        """Return nothing: what the user does here is no call. Whoever asks says that it is the user's turn."""
        self._note()
        return ()

    def _note(self) -> None:
        """Take the public state, as a turn may end here; at every call it would cost as much as the calls do."""
        self._states[self._calls] = self._world.state

    def _offer(self) -> None:
        missing = self._blueprint.withheld(self._turn)
        if missing is not self._world.withheld:
            self._world.withheld = missing
            self._tools[:] = self._blueprint.offer(missing)


class TurnTaker:
    """A user who makes a further request whenever the assistant says something, and says that it starts.

    Args:
        task: its script holds the requests.
        begin: told the number of every turn but the first, before it is spoken, and at the end one more.
    """

    def __init__(self, task: Task, begin: Callable[[int], None]) -> None:
        assert task.script is not None
        self._said = 0
        self._words = (task.script.opening, *task.script.turns)
        self._begin = begin

    def reply(self, said: str | None) -> str | None:
        """Return the next request; after the last one the talk ends."""
        if said is not None:
            self._said += 1
            self._begin(self._said)
        return self._words[self._said] if self._said < len(self._words) else None
