"""From an errand to the user's words: a scenario in τ²'s form, and the script of a scripted user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench2robust.core.randomness import Draws

from .wishes import Errand, Wish, mine, sentence, tidy

CUES: Mapping[str, tuple[str, ...]] = {
    "order": ("which order", "which of your orders", "what order", "order number", "order id"),
    "item": ("which item", "what item", "which product", "what product"),
    "option": ("option", "variant", "which version", "what version", "replacement", "new item"),
    "payment": ("payment method", "refund method", "which card", "how would you like to pay"),
    "reason": ("reason", "why "),
    "address": (
        "full address",
        "which address",
        "what address",
        "new address",
        "shipping address",
        "delivery address",
    ),
    "trip": ("which reservation", "which trip", "reservation number", "reservation id", "which booking"),
    "cabin": ("cabin",),
    "date": ("which date", "what date", "which day", "what day"),
    "bags": ("how many bags", "how many checked", "number of bags"),
    "passenger": ("who is", "which passenger", "passenger's name", "full name"),
    "confirm": ("go ahead", "proceed", "please confirm", "do you confirm", "(yes", "yes/no", "yes or no"),
}
"""Kind of detail to the words in a question that make the user say it."""

QUESTIONS: Mapping[str, str] = {
    "order": "Which order do you mean?",
    "item": "Which item do you mean?",
    "option": "Which options should the new one have?",
    "payment": "Which payment method should be used?",
    "reason": "What is the reason?",
    "address": "What is the full address?",
    "trip": "Which reservation do you mean?",
    "cabin": "Which cabin would you like?",
    "date": "For which date?",
    "bags": "How many bags do you want to add?",
    "passenger": "Who is to be replaced, and by whom?",
    "confirm": "Shall I go ahead with this? (yes/no)",
}
"""Kind of detail to how a reference policy asks for it; each holds the cue of its own kind only."""

_FIRST = (
    "You want to",
    "You would like to",
    "You are calling to",
    "You need to",
    "Your wish is to",
    "You hope to",
)
_NEXT = ("You also want to", "Then you want to", "In addition, you would like to", "On top of that, you want to",
         "Besides, you need to", "Next, you want to")  # fmt: skip
_LAST = (
    "Finally, you want to",
    "To finish, you would like to",
    "One more thing: you need to",
    "And then you want to",
)
_BEFORE = (
    "", "", "", "You are going through your account.", "You are sorting out your affairs.",
    "You just got home.", "You share the account with your family.",
    "You have been a customer for years.", "It is your first call here.", "You are calling from work.",
    "A friend told you to call.", "You have the website open in front of you.",
)  # fmt: skip
_MANNERS = (
    "You are polite", "You are brief", "You are talkative", "You are impatient", "You are cheerful",
    "You are formal", "You are reserved", "You are friendly", "You are precise", "You are relaxed",
    "You are sceptical", "You are tired", "You are matter-of-fact", "You are anxious", "You are curious",
)  # fmt: skip
_HABITS = (
    "and answer in short sentences.", "and do not like small talk.", "and thank the agent often.",
    "and want this done in one go.", "and do not repeat yourself.", "and read along as the agent types.",
    "and write without capital letters.", "and have only a few minutes.", "and like to hear what happens next.",
    "and get to the point.", "and tend to ramble a little.", "and expect good service.",
)  # fmt: skip
_GREETINGS = ("Hello.", "Hi.", "Hi there.", "Good morning.", "Good day.", "Hey.", "Good afternoon.", "")
_SWITCHES = (
    "Wait, you changed your mind.", "Actually, no, you have thought again.", "No, stop, you would rather not.",
    "Hold on, please do not do that.", "On second thoughts, leave that as it is.", "No, forget about that.",
)  # fmt: skip
_INSTEAD = ("Instead, you want to", "You would rather", "What you really want is to", "You now want to")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the user says when asked for one kind of detail."""

    asks: str
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the reply as JSON values."""
        return {"asks": self.asks, "cues": list(CUES[self.asks]), "text": self.text}


@dataclass(frozen=True, slots=True)
class Text:
    """The user's words."""

    reason_for_call: str
    task_instructions: str
    known: str
    unknown: str
    opening: str = ""
    """The first message, of a user who does not say everything at once."""
    replies: tuple[Reply, ...] = ()

    def scenario(self, domain: str) -> dict[str, Any]:
        """Return τ²'s ``user_scenario``."""
        return {
            "persona": None,
            "instructions": {
                "task_instructions": self.task_instructions,
                "domain": domain,
                "reason_for_call": self.reason_for_call,
                "known_info": self.known,
                "unknown_info": self.unknown,
            },
        }


def manner(draws: Draws) -> str:
    """Return how the user talks."""
    return f"{draws.choice(_MANNERS)} {draws.choice(_HABITS)}"


def request(
    wishes: Sequence[Wish],
    draws: Draws,
    first: Sequence[str] = _FIRST,
    withheld: frozenset[str] = frozenset(),
) -> str:
    """Return the wishes as sentences."""
    said = []
    for place, wish in enumerate(wishes):
        last = place == len(wishes) - 1
        starts = first if not place else _LAST if last and place > 1 else _NEXT
        said.append(sentence(f"{draws.choice(starts)} {wish.say(draws.choice(wish.frames), withheld)}"))
    return " ".join(said)


def general(errand: Errand, draws: Draws) -> Text:
    """Say everything at once."""
    reason = tidy(f"{draws.choice(_BEFORE)} {request(errand.wishes, draws)} {errand.ask}")
    return Text(reason, manner(draws), errand.person.known, errand.person.unknown)


def can_withhold(errand: Errand) -> list[str]:
    """Return the kinds of detail that an ambiguous user may keep back."""
    kinds = frozenset().union(*(wish.can_withhold for wish in errand.wishes))
    return [kind for kind in CUES if kind in kinds]


def ambiguous(errand: Errand, draws: Draws) -> Text:
    """Keep some details back, and say them when asked."""
    withheld = frozenset(draws.some(can_withhold(errand)))
    if "item" in withheld:
        withheld |= {"option"}  # nobody describes the new version of something they have not named
    reason = tidy(f"{draws.choice(_BEFORE)} {request(errand.wishes, draws, withheld=withheld)} {errand.ask}")
    replies = tuple(_reply(kind, errand.wishes) for kind in can_withhold(errand) if kind in withheld)
    when = " ".join(f'If you are asked about the {r.asks}, you say: "{r.text}"' for r in replies)
    instructions = f"{manner(draws)} You do not give these details before you are asked for them. {when}"
    return Text(
        reason,
        instructions,
        errand.person.known,
        errand.person.unknown,
        _opening(errand, reason, draws),
        replies,
    )


def changing(errand: Errand, rather: Wish, draws: Draws) -> Text:
    """Want something else first, and switch when asked to confirm it."""
    reason = tidy(f"{draws.choice(_BEFORE)} {request([rather], draws)}")
    switch = tidy(f"{draws.choice(_SWITCHES)} {request(errand.wishes, draws, _INSTEAD)} {errand.ask}")
    reply = Reply("confirm", mine(switch))
    instructions = (
        f"{manner(draws)} If the agent asks you to confirm this, you change your mind before it is done and say: "
        f'"{reply.text}"'
    )
    return Text(
        reason,
        instructions,
        errand.person.known,
        errand.person.unknown,
        _opening(errand, reason, draws),
        (reply,),
    )


def _opening(errand: Errand, reason: str, draws: Draws) -> str:
    parts = [mine(reason), mine(errand.person.known)]
    return tidy(f"{draws.choice(_GREETINGS)} {' '.join(parts if draws.uniform() < 0.5 else parts[::-1])}")


def _reply(kind: str, wishes: Sequence[Wish]) -> Reply:
    """Return the answers of all wishes about one kind of detail."""
    said = [(wish.subject, wish.details[kind].answer) for wish in wishes if kind in wish.can_withhold]
    if len(said) == 1:
        return Reply(kind, mine(sentence(said[0][1])))
    return Reply(kind, mine(" ".join(sentence(f"For {subject}: {answer}") for subject, answer in said)))
