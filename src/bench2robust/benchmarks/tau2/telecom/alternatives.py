"""Two tools of ours that τ² telecom lacks; both only read the live database.

τ² has no way from a phone number to its line, and none to see which plans there are, although its
policy speaks of both. Signatures and docstrings are what an agent is told (golden-tested).
"""

from __future__ import annotations

import json
from typing import Any

ALTERNATIVES = ("get_line_by_phone", "list_plans")
"""The alternative tools."""


class AddedTools:
    """The alternative tools on one episode's database; an unknown number raises as τ²'s tools do."""

    __slots__ = ("_db",)

    def __init__(self, db: Any) -> None:
        self._db = db

    def get_line_by_phone(self, phone_number: str) -> str:
        """Get the line that has a phone number, with the id of the customer who owns it.

        The customer's other lines, their bills and their contact details are not shown.

        Args:
            phone_number: The phone number of the line, such as '555-123-4567'.

        Returns:
            str: A JSON string with the line and its customer_id.

        Raises:
            ValueError: If no line has the phone number.
        """
        for line in self._db.lines:
            if line.phone_number == phone_number:
                owner = next((c for c in self._db.customers if line.line_id in c.line_ids), None)
                return json.dumps(
                    {**line.model_dump(), "customer_id": owner.customer_id if owner else None}, default=str
                )
        raise ValueError(f"Line with phone number {phone_number} not found")

    def list_plans(self) -> list[Any]:
        """Get every service plan: id, name, data limit, monthly price and data refueling price per GB.

        Returns:
            list: All plans.
        """
        return list(self._db.plans)
