"""Goals of users who do not say everything at once: what a plan has to ask before it may decide.

The selectors of a plan are compiled from all that the user would ever say. These goals make a plan earn
them: until the user has said the words that hold a detail, what was compiled from it is out of reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench2robust.core.plan import Act, Ask, Decision, Done, Facts, Goal, Plan, Stuck

from .compose import QUESTIONS


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask, and the words that answer it."""

    asks: str
    expected: str

    @property
    def fact(self) -> str:
        """The fact that the user's answer becomes."""
        return f"the user on {self.asks}"

    def answered(self, facts: Facts) -> bool:
        """Whether the user has said it."""
        return _plain(self.expected) in _plain(str(facts.get(self.fact, "")))

    def ask(self) -> Ask:
        """Ask it."""
        return Ask(self.fact, QUESTIONS[self.asks])


@dataclass(frozen=True, slots=True)
class Told:
    """A goal that can be decided only once the user has answered."""

    goal: Goal
    questions: tuple[Question, ...]

    def decide(self, facts: Facts, done: int) -> Decision:
        """Ask what is open, then decide (see `core.plan`)."""
        for question in self.questions:
            if question.fact not in facts:
                return question.ask()
            if not question.answered(facts):
                return Stuck(f"you have not told me about the {question.asks}")
        return self.goal.decide(facts, done)


@dataclass(frozen=True, slots=True)
class Tentative:
    """A wish that is confirmed before it is carried out; an answer that withdraws it ends it."""

    goal: Goal
    withdrawn: Question

    def decide(self, facts: Facts, done: int) -> Decision:
        """Decide, but ask before acting (see `core.plan`)."""
        if self.withdrawn.answered(facts):
            return Done("the user wants something else")
        decision = self.goal.decide(facts, done)
        if isinstance(decision, Act) and self.withdrawn.fact not in facts:
            return self.withdrawn.ask()
        return decision


def ask_first(plan: Plan, questions: Sequence[Question]) -> Plan:
    """Return the plan with every goal behind the questions."""
    goals = tuple(Told(goal, tuple(questions)) for goal in plan.goals)
    return Plan(goals, plan.escalate, plan.ungrounded, plan.notes)


def confirm_first(abandoned: Plan, plan: Plan, switch: Question) -> Plan:
    """Return the plan of a user who first wants what `abandoned` does."""
    tentative = tuple(Tentative(goal, switch) for goal in abandoned.goals)
    final = ask_first(plan, (switch,))
    return Plan(
        (*tentative, *final.goals),
        plan.escalate,
        (*abandoned.ungrounded, *plan.ungrounded),
        (*abandoned.notes, *plan.notes),
    )


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
