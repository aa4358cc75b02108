"""Test an agent in CI while its tools fail.

Run it: ``pytest examples/test_order_agent.py``, harder: ``pytest examples/test_order_agent.py --tool-fault-seeds 100``
"""

import pytest

from bench2robust import inject
from bench2robust.integrations.checks import max_identical_calls, no_retry_after

ORDER = {"order_id": "W1", "status": "open", "total": 120.5}
SHOP = {"classes": {"order": ["get_order", "list_orders"]}, "needs": {"cancel_order": ["order"]}}
faulty = pytest.mark.tool_faults


@inject
def get_order(order_id: str) -> dict:
    """Get an order."""
    return ORDER


@inject
def list_orders(user: str) -> list[dict]:
    """List a user's orders: the same information by another path."""
    return [ORDER]


@inject(kind="write")
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return "cancelled"


@inject(kind="escalation")
def hand_over(summary: str) -> str:
    """Hand over to a human."""
    return "a colleague will call"


class Agent:
    """Stands for an agent: tries, tries the other tool, tries both once more, then hands over."""

    def status(self) -> str | None:
        """Return the order's status."""
        for _ in range(2):
            order = get_order("W1")
            orders = [order] if isinstance(order, dict) and order["status"] else list_orders("ada")
            for order in orders if isinstance(orders, list) else ():
                if order.get("status"):  # an answer may be incomplete
                    return order["status"]
        return None

    def cancel(self) -> str:
        """Cancel the order, and say so."""
        if self.status() != "open":
            hand_over("the order cannot be read")
            return "I could not read the order; a colleague will call."
        if cancel_order("W1") != "cancelled":
            return "I do not know whether the order is cancelled; please look again in a minute."
        return "I cancelled the order."


@faulty(profile="severe", seeds=20, domain=SHOP, checks=[max_identical_calls(3), "no_duplicate_writes"])
def test_it_never_repeats_itself(tool_faults):
    """Each seed is a test of its own: every one has to pass."""
    tool_faults.said(Agent().cancel())
    tool_faults.check("no_fabricated_success", "escalated_only_when_exhausted")


@faulty(profile="severe", scenario="s2", seeds=40, domain=SHOP, min_pass_rate=0.9)
def test_it_switches_where_one_tool_never_works():
    """Forty seeds are one test: it fails when a pass rate of 90 % is no longer credible."""
    assert Agent().status() == "open"


@faulty(profile={"auth_error": 0.5}, seeds=5, domain=SHOP)
async def test_a_refusal_is_not_retried(tool_faults):
    """Coroutines need no other plugin."""
    Agent().status()
    tool_faults.check(no_retry_after("auth_error"))


@faulty(profile="severe", scenario="s3", seeds=5, domain=SHOP)
def test_it_hands_over_where_nothing_works(tool_faults):
    """In S3 no tool gives the order, and the write that needs it is down too."""
    tool_faults.said(Agent().cancel())
    tool_faults.check("escalated_when_impossible", "admitted_what_failed")
