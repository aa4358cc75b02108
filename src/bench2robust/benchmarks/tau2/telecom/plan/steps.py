"""What is done about each fault: how it shows, and what then has to happen (τ²'s policy and manual).

A step on the phone asks the user to look, and to act only if the phone shows the fault. A step at the
carrier reads, and writes only if the records call for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench2robust.core.plan import Fetch, Handover
from bench2robust.core.tools import ToolCall

from . import routes
from .desk import Desk, NoMatch, Wanting, Write
from .known import gigabytes
from .routes import Json

ESCALATION = "transfer_to_human_agents"
TODAY = "2025-02-25"
"""The date in τ²'s policy."""
MOST_REFUELED = 2.0
"""GB; the policy's limit."""

Step = Callable[[Desk], None]


def escalate(summary: str) -> ToolCall:
    """Build the escalation call."""
    return ToolCall(ESCALATION, {"summary": summary})


@dataclass(frozen=True, slots=True)
class OnPhone:
    """A fault of the phone."""

    name: str
    look: str
    """The call that shows it."""
    shows: str
    """A pattern of what shows it."""
    act: str
    """What the user is asked to do."""
    only_abroad: bool = False

    def __call__(self, desk: Desk) -> None:
        """Have the user look, and act if the phone shows the fault."""
        if self.only_abroad and not desk.known.abroad:
            return
        if re.search(self.shows, look(desk, self.look)):
            desk.hear(f"{self.name} done", f"Please run {self.act}.")


def look(desk: Desk, call: str) -> str:
    """What the user's phone shows when they look (asked once)."""
    return desk.hear(call, f"Please run {call} and tell me what it shows.")


def enable_roaming(desk: Desk) -> None:
    """Enable roaming on the line of a user abroad, at no cost."""
    if not desk.known.abroad or desk.written("roaming"):
        return
    line = desk.line()
    if line.get("roaming_enabled"):
        return
    telling = f"I have enabled roaming on your line {desk.known.phone}, at no cost."
    call = ToolCall("enable_roaming", _target(desk, line))
    desk.write(
        "roaming", Write(call, _again(desk, line), lambda now: bool(now.get("roaming_enabled")), telling)
    )


def refuel(desk: Desk) -> None:
    """Refuel as much data as the user wants, at the plan's price, if the line's data is used up.

    Line and plan say all that get_data_usage says, and the price besides.
    """
    if desk.written("refueling"):
        return
    line = desk.line()
    plan = desk.plan(line)
    used, before = _number(line, "data_used_gb"), _number(line, "data_refueling_gb")
    limit, price = _number(plan, "data_limit_gb"), _number(plan, "data_refueling_price_per_gb")
    if used < limit + before:
        return
    answer = desk.hear(
        "refuel amount",
        f"Your line has used {used} GB of {limit + before} GB. How much data do you want to refuel, at"
        f" {price} USD per GB (at most {MOST_REFUELED} GB)?",
    )
    amount = gigabytes(answer)
    if amount is None:
        raise NoMatch("the user does not say how much data to refuel")
    amount = min(amount, MOST_REFUELED)
    call = ToolCall("refuel_data", {**_target(desk, line), "gb_amount": amount})
    telling = f"I have added {amount} GB to your line for {amount * price:.2f} USD."

    def happened(now: Any) -> bool:
        return bool((now.get("data_refueling_gb") or 0) > before)

    desk.write("refueling", Write(call, _again(desk, line), happened, telling))


def lift_suspension(desk: Desk) -> None:
    """Have overdue bills paid, then resume the line, unless its contract has ended."""
    line = desk.line()
    if line.get("status") != "Suspended":
        return
    for bill in desk.bills():
        if bill.get("status") == "Overdue":
            _have_paid(desk, bill)
    if contract_ended(line):
        raise Wanting(Handover(escalate("The line is suspended and its contract has ended.")))
    call = ToolCall("resume_line", _target(desk, line))
    telling = "Your line is active again. Please run reboot_device()."
    desk.write("resumed", Write(call, _again(desk, line), lambda now: now.get("status") == "Active", telling))


def needs_a_human(desk: Desk) -> None:
    """Hand over what only a human can solve: a locked SIM card, a contract that has ended."""
    shown = look(desk, "check_sim_status()")
    if "No SIM card" in shown:
        shown = desk.hear("sim done", "Please run reseat_sim_card() and then check_sim_status().")
    if "locked" in shown:
        raise Wanting(Handover(escalate("The SIM card is locked.")))
    line = desk.line()
    if line.get("status") == "Suspended" and contract_ended(line):
        raise Wanting(Handover(escalate("The line is suspended and its contract has ended.")))
    raise NoMatch("neither the SIM card nor the contract is the cause")


def contract_ended(line: Json) -> bool:
    """Whether a line's contract end is in the past."""
    end = line.get("contract_end_date")
    return isinstance(end, str) and "" < end < TODAY


def _have_paid(desk: Desk, bill: Json) -> None:
    bill_id, customer_id = str(bill.get("bill_id")), desk.customer_id()
    call = ToolCall("send_payment_request", {"customer_id": customer_id, "bill_id": bill_id})
    telling = (
        f"I have sent you a payment request for bill {bill_id} of {bill.get('total_due')} USD."
        " Please run check_payment_request()."
    )
    write = Write(
        call,
        routes.bill_again(bill_id, customer_id),
        lambda now: now.get("status") in ("Awaiting Payment", "Paid"),
        telling,
    )
    if bill_id not in desk.write(f"request {bill_id}", write):
        raise NoMatch(f"the user has no payment request for bill {bill_id}")
    desk.hear(f"{bill_id} paid", "If you accept it, please run make_payment().")
    now = desk.bills(f"after {bill_id} ")
    if not any(b.get("bill_id") == bill_id and b.get("status") == "Paid" for b in now):
        raise NoMatch(f"bill {bill_id} is not paid")


def _target(desk: Desk, line: Json) -> dict[str, Any]:
    return {"customer_id": desk.customer_id(), "line_id": line.get("line_id")}


def _again(desk: Desk, line: Json) -> Fetch:
    return routes.line_again(desk.known, str(line.get("line_id")))


def _number(record: Json, key: str) -> float:
    value = record.get(key)
    if not isinstance(value, int | float):
        raise NoMatch(f"no {key}")
    return float(value)


_NETWORK = "check_network_status()"
_PERMISSIONS = 'check_app_permissions(app_name="messaging")'


def grant_permissions(desk: Desk) -> None:
    """Have the messaging app get what it needs for MMS, as far as it lacks it."""
    shown = look(desk, _PERMISSIONS)
    for permission in ("storage", "sms"):
        if not re.search(rf"\b{permission}\b", shown):
            call = f'grant_app_permission(app_name="messaging", permission="{permission}")'
            desk.hear(f"{permission} done", f"Please run {call}.")


STEPS: Mapping[str, Step] = {
    "toggle_airplane_mode": OnPhone("airplane", _NETWORK, r"Airplane Mode: ON", "toggle_airplane_mode()"),
    "toggle_data": OnPhone("data", _NETWORK, r"Mobile Data Enabled: No", "toggle_data()"),
    "toggle_roaming": OnPhone(
        "roaming", _NETWORK, r"Data Roaming Enabled: No", "toggle_roaming()", only_abroad=True
    ),
    "reseat_sim_card": OnPhone("sim", "check_sim_status()", r"No SIM card", "reseat_sim_card()"),
    "reset_apn_settings": OnPhone(
        "apn",
        "check_apn_settings()",
        r"APN Name: broken|MMSC URL[^:]*: Not Set",
        "reset_apn_settings() and then reboot_device()",
    ),
    "set_network_mode_preference": OnPhone(
        "mode",
        "check_network_mode_preference()",
        r"\b[23]g_only",
        'set_network_mode_preference(mode="4g_5g_preferred")',
    ),
    "toggle_data_saver_mode": OnPhone(
        "saver", "check_data_restriction_status()", r"Data Saver mode is ON", "toggle_data_saver_mode()"
    ),
    "disconnect_vpn": OnPhone(
        "vpn", "check_vpn_status()", r"VPN is ON and connected.*poor", "disconnect_vpn()"
    ),
    "toggle_wifi_calling": OnPhone(
        "wifi calling", "check_wifi_calling_status()", r"turned ON", "toggle_wifi_calling()"
    ),
    "grant_app_permission": grant_permissions,
    "enable_roaming": enable_roaming,
    "refuel_data": refuel,
    "send_payment_request": lift_suspension,
    "make_payment": lift_suspension,
    "resume_line": lift_suspension,
    ESCALATION: needs_a_human,
}
"""Gold action to the step that it belongs to. A reboot belongs to the step before it."""
