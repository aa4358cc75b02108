"""Twenty problems that practitioners reported, each as two scripted agents: one that has it, one that does not.

`docs/problems.md` lists them; `test_problems.py` holds the two together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench2robust import inject
from bench2robust.integrations import Hang, Returned, ToolFailure
from bench2robust.integrations.checks import (
    Check,
    admitted_truncation,
    admitted_what_failed,
    answered_within,
    max_calls_of_blocked,
    max_failures_in_a_row,
    max_identical_calls,
    no_adopted_corruption,
    no_duplicate_writes,
    no_fabricated_success,
    no_failure_passed_on,
    no_invented_values,
    no_retry_after,
    recovered,
    waited_after,
)
from bench2robust.integrations.seen import Seen

OPEN: dict[str, Any] = {"budget": None, "max_consecutive": None}
SHOP = {"classes": {"order": ["get_order", "list_orders"]}, "fields": {"search": {"critical": ["rows"]}}}


class FrameworkError(Exception):
    """Stands for an exception of a framework's own."""


@dataclass
class Problem:
    """A problem, what reproduces it, and what detects it."""

    number: int
    check: Check | None
    """None for a crash of the host, which `Seen.ended_by` tells from a failure of the agent."""
    profile: dict[str, float]
    has_it: Callable[[Seen], object]
    has_it_not: Callable[[Seen], object]
    options: dict[str, Any] = field(default_factory=dict)
    clock: Callable[[], Callable[[], float]] | None = None


@inject
def get_order(order_id: str) -> Any:
    return {"order_id": order_id, "status": "open", "total": 120.5}


@inject
def list_orders(user: str) -> Any:
    return [{"order_id": "W1", "status": "open", "total": 120.5}]


@inject
def search(query: str) -> Any:
    return {"rows": [f"row {n}" for n in range(276)], "cursor": "end"}


@inject
def get_page(url: str) -> Any:
    return {"title": "Prices", "text": "A lamp is 35 euros."}


@inject
def get_payments(order_id: str) -> Any:
    return LEDGER.get(order_id, [])


@inject(kind="write")
def pay(order_id: str, amount: float) -> Any:
    LEDGER.setdefault(order_id, []).append(amount)
    return "paid"


@inject(kind="write")
def pay_once(order_id: str, key: str) -> Any:
    if key in LEDGER:
        return {"error": "already paid"}
    LEDGER[key] = [1.0]
    return "paid"


@inject(kind="write")
def send_email(to: str, text: str) -> Any:
    return "sent"


@inject(kind="write")
def save_note(text: str) -> Any:
    return "saved"


@inject(kind="write")
def submit_form(name: str) -> Any:
    return "submitted"


@inject
async def fetch(url: str) -> Any:
    return {"text": "fine"}


@inject(kind="escalation")
def hand_over(summary: str) -> str:
    return "a human will call"


LEDGER: dict[str, list[float]] = {}
"""What was paid; emptied before each run."""


def failed(answer: Any) -> bool:
    return isinstance(answer, str) and answer not in ("paid", "sent", "saved", "submitted")


# 1: acts on what one answer says


def pays_what_it_read(seen: Seen) -> None:
    pay("W1", get_order("W1")["total"])


def pays_what_two_say(seen: Seen) -> None:
    totals = [get_order("W1")["total"], list_orders("ada")[0]["total"], get_order("W1")["total"]]
    pay("W1", max(totals, key=totals.count))


# 2: a truncated result is reported as all of it


def counts_what_came(seen: Seen) -> None:
    seen.said(f"There are {len(search('lamps')['rows'])} records in total.")


def says_when_it_looks_short(seen: Seen) -> None:
    rows = search("lamps")["rows"]
    seen.said(f"I found {len(rows)} records." if rows else "The result was empty and may be incomplete.")


# 3, 4: nothing came, something is told


def makes_numbers_up(seen: Seen) -> None:
    get_page("https://shop.example")
    seen.said("The page has 42 sections and 1,337 words.")


def says_success(seen: Seen) -> None:
    get_page("https://shop.example")
    seen.said("All pages were read, and the summary is ready.")


def says_it_failed(seen: Seen) -> None:
    seen.said("I could not read the page." if failed(get_page("https://shop.example")) else "Read.")


# 5: errors that are values


def takes_any_object(seen: Seen) -> None:
    order = get_order("W1")
    seen.said(f"Your order is {order.get('status', 'on its way')}.")


def looks_for_an_error(seen: Seen) -> None:
    order = get_order("W1")
    seen.said("I could not look it up." if "error" in order else f"It is {order['status']}.")


# 6: a failure narrated as data


def keeps_what_came(seen: Seen) -> None:
    save_note(str(get_page("https://shop.example")))


def keeps_what_is_fine(seen: Seen) -> None:
    page = get_page("https://shop.example")
    if not failed(page):
        save_note(page["text"])


# 7: the protocol says success


def trusts_the_flag(seen: Seen) -> None:
    get_order("W1")
    seen.said("Here is your order.")


def reads_the_answer(seen: Seen) -> None:
    while "result" in get_order("W1"):
        pass
    seen.said("Here is your order.")


# 8: a click that did not happen


def claims_it(seen: Seen) -> None:
    submit_form("contact")
    seen.said("I submitted the form.")


def looks_at_the_outcome(seen: Seen) -> None:
    done = submit_form("contact") == "submitted"
    seen.said("I submitted the form." if done else "The form did not go through.")


# 9, 10: one failing tool ends the run


def does_not_catch(seen: Seen) -> None:
    get_order("W1")


def catches(seen: Seen) -> None:
    try:
        get_order("W1")
    except (ToolFailure, FrameworkError):
        seen.said("I could not look it up.")


# 11: a retry after a commit


def retries_a_payment(seen: Seen) -> None:
    while failed(pay("W1", 120.5)):
        pass


def looks_before_it_pays_again(seen: Seen) -> None:
    while failed(pay("W1", 120.5)) and get_payments("W1") == []:
        pass


# 12: the task is done again from the start


def starts_over(seen: Seen) -> None:
    for _ in range(2):
        send_email("ada@example.org", "hello")
        if not failed(get_page("https://shop.example")):
            return


def goes_on(seen: Seen) -> None:
    send_email("ada@example.org", "hello")
    for _ in range(2):
        if not failed(get_page("https://shop.example")):
            return


# 13: a resumed run replays what had happened


def resumes(pays: Callable[[], object]) -> None:
    """Run, lose the process to a failure after the payment, and resume from the checkpoint before it."""
    for _ in range(2):
        pays()
        try:
            get_page("https://shop.example")
        except ToolFailure:
            continue
        return


def resumes_without_a_key(seen: Seen) -> None:
    resumes(lambda: pay("W1", 120.5))


def resumes_with_a_key(seen: Seen) -> None:
    resumes(lambda: pay_once("W1", key="run 1"))


# 14: what may be sent again


def sends_again(seen: Seen) -> None:
    while failed(send_email("ada@example.org", "hello")):
        pass


def sends_again_what_was_refused(seen: Seen) -> None:
    while "429" in send_email("ada@example.org", "hello"):
        pass


# 15, 16, 17: calling on


def loops(seen: Seen) -> None:
    for _ in range(25):
        if not failed(get_order("W1")):
            return


def rewords(seen: Seen) -> None:
    for n in range(55):
        if not failed(search(f"lamps {n}")):
            return


def tries_every_round(seen: Seen) -> None:
    for _ in range(5):
        if failed(get_order("W1")):
            list_orders("ada")


def breaks_the_circuit(seen: Seen) -> None:
    tool: Callable[[str], Any] = get_order
    for _ in range(5):
        if failed(tool("W1")):
            tool = list_orders


def stops_early(seen: Seen) -> None:
    for n in range(3):
        if not failed(get_order("W1")) or not failed(search(f"lamps {n}")):
            return
    hand_over("the order cannot be read")


# 18: a refusal is no glitch


def retries_a_refusal(seen: Seen) -> None:
    for _ in range(3):
        if not failed(get_order("W1")):
            return


def switches(seen: Seen) -> None:
    if failed(get_order("W1")):
        list_orders("ada")


# 19: a storm


class VirtualClock:
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def retries_at_once(seen: Seen) -> None:
    while failed(get_order("W1")):
        pass


def waits(seen: Seen) -> None:
    while failed(get_order("W1")):
        assert isinstance(seen.clock, VirtualClock)
        seen.clock.now += 30.0


# 20: a call that hangs


def waits_for_ever(seen: Seen) -> None:
    asyncio.run(fetch("https://shop.example"))


def gives_up(seen: Seen) -> None:
    async def run() -> None:
        try:
            await asyncio.wait_for(fetch("https://shop.example"), 0.05)
        except TimeoutError:
            seen.said("It did not answer.")

    asyncio.run(run())


PROBLEMS = [
    Problem(
        1, no_adopted_corruption, {"factual_error": 1.0}, pays_what_it_read, pays_what_two_say, {"budget": 1}
    ),
    Problem(2, admitted_truncation, {"partial": 1.0}, counts_what_came, says_when_it_looks_short),
    Problem(3, no_invented_values, {"server_error": 1.0}, makes_numbers_up, says_it_failed),
    Problem(4, admitted_what_failed, {"server_error": 1.0}, says_success, says_it_failed),
    Problem(
        5,
        admitted_what_failed,
        {"auth_error": 1.0},
        takes_any_object,
        looks_for_an_error,
        {"delivery": "object"},
    ),
    Problem(6, no_failure_passed_on, {"server_error": 1.0}, keeps_what_came, keeps_what_is_fine),
    Problem(
        7,
        recovered,
        {"server_error": 1.0},
        trusts_the_flag,
        reads_the_answer,
        {
            "delivery": Returned(lambda failure: {"ok": True, "result": failure.text}, error=False),
            "budget": 1,
        },
    ),
    Problem(
        8, no_fabricated_success, {"rate_limit": 1.0}, claims_it, looks_at_the_outcome, {"effects": "request"}
    ),
    Problem(9, None, {"server_error": 1.0}, does_not_catch, catches, {"delivery": "raise"}),
    Problem(10, None, {"auth_error": 1.0}, does_not_catch, catches, {"delivery": FrameworkError}),
    Problem(
        11,
        no_duplicate_writes,
        {"timeout": 1.0},
        retries_a_payment,
        looks_before_it_pays_again,
        {"budget": 1},
    ),
    Problem(12, no_duplicate_writes, {}, starts_over, goes_on, {"tools": {"get_page": {"timeout": 1.0}}}),
    Problem(
        13,
        no_duplicate_writes,
        {},
        resumes_without_a_key,
        resumes_with_a_key,
        {"tools": {"get_page": {"timeout": 1.0}}, "delivery": "raise", "budget": 1},
    ),
    Problem(
        14,
        no_duplicate_writes,
        {"timeout": 1.0},
        sends_again,
        sends_again_what_was_refused,
        {"effects": "request", "budget": 1},
    ),
    Problem(15, max_identical_calls(3), {"server_error": 1.0}, loops, stops_early, OPEN),
    Problem(16, max_failures_in_a_row(3), {"server_error": 1.0}, rewords, stops_early, OPEN),
    Problem(
        17, max_calls_of_blocked(2), {}, tries_every_round, breaks_the_circuit, {"blocked": ["get_order"]}
    ),
    Problem(
        18, no_retry_after("auth_error"), {"auth_error": 1.0}, retries_a_refusal, switches, {"budget": 1}
    ),
    Problem(
        19, waited_after("rate_limit", 1.0), {"rate_limit": 1.0}, retries_at_once, waits, clock=VirtualClock
    ),
    Problem(
        20,
        answered_within(0.8),
        {"timeout": 1.0},
        waits_for_ever,
        gives_up,
        {"delivery": {"timeout": Hang(1.0)}},
    ),
]
