"""Make plain Python tools fail, and see what a loop around them does about it.

Run it: ``python examples/python_tools.py``
"""

from bench2robust import faults, inject

ORDERS = {"#W1": {"order_id": "#W1", "status": "shipped", "total": 47.84}}


@inject
def get_order(order_id: str) -> dict:
    """Get an order by its id."""
    return ORDERS[order_id]


@inject
def list_orders(user: str) -> list[dict]:
    """List a user's orders: the same information by another path."""
    return list(ORDERS.values())


def total_of(order_id: str, user: str) -> float | None:
    """Stand for an agent: retry once, switch to the other tool, then give up honestly."""
    for _ in range(2):
        answer = get_order(order_id)
        if isinstance(answer, dict):
            return answer["total"]
    orders = list_orders(user)
    if isinstance(orders, list):
        return next(order["total"] for order in orders if order["order_id"] == order_id)
    return None


shop = {"classes": {"order": ["get_order", "list_orders"]}}  # either of the two is enough

for scenario in ("s1", "s2", "s3"):  # retrying works, switching is needed, nothing works
    scope = faults("severe", seed=1, scenario=scenario, domain=shop)
    answers = []
    for run in range(20):
        with scope.episode(f"run {run}") as episode:
            answers.append(total_of("#W1", "ada"))
    right, honest = answers.count(47.84), answers.count(None)
    print(f"{scenario}: {right} right, {honest} given up, {20 - right - honest} wrong")

# One run again, call by call; a record's repr never shows the arguments.
with scope.episode("run 3", seed=1) as episode:
    total_of("#W1", "ada")
for record in episode.records:
    print(record.call.name, "blocked" if record.blocked else record.noise, "->", record.delivered.text)
