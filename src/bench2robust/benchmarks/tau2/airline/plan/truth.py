"""The pristine world: every fact as it truly is, for the compiler to check selectors against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .world import Json


class Truth(Mapping[str, Any]):
    """Facts computed from the raw database on demand, so that nothing is ever missing."""

    def __init__(self, db: Json, user_id: str) -> None:
        self._db = db
        self.user: Json = db["users"][user_id]
        self._known: dict[str, Any] = {}

    def __getitem__(self, fact: str) -> Any:
        if fact not in self._known:
            self._known[fact] = self._find(fact)
        return self._known[fact]

    def __contains__(self, fact: object) -> bool:
        return isinstance(fact, str)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def trips(self) -> list[Json]:
        """Every reservation of the user."""
        return [self._db["reservations"][key] for key in self.user["reservations"]]

    def _find(self, fact: str) -> Any:
        kind, *rest = fact.split(" ")
        if kind == "user":
            return self.user
        if kind == "reservation":
            return self._db["reservations"].get(rest[0])
        if kind == "direct":
            return self._flights(*rest)
        if kind == "connecting":
            return self._connections(*rest)
        flight = self._db["flights"].get(rest[0], {})
        day = flight.get("dates", {}).get(rest[1])
        if kind == "status":
            return day and day["status"]
        return _bookable(flight, day) if day and day["status"] == "available" else None

    def _flights(self, origin: str, destination: str, date: str, after: str = "") -> list[Json]:
        """Return what `search_direct_flight` gives; `destination` may be empty for all."""
        return [
            _bookable(flight, day)
            for flight in self._db["flights"].values()
            if flight["origin"] == origin
            and destination in ("", flight["destination"])
            and (day := flight["dates"].get(date)) is not None
            and day["status"] == "available"
            and flight["scheduled_departure_time_est"] >= after
        ]

    def _connections(self, origin: str, destination: str, date: str) -> list[list[Json]]:
        """Return what `search_onestop_flight` gives, its way of finding the next day included."""
        found = []
        for first in self._flights(origin, "", date):
            arrives = first["scheduled_arrival_time_est"]
            day = f"2024-05-{int(date[-2:]) + 1}" if "+1" in arrives else date
            for second in self._flights(first["destination"], destination, day, arrives):
                found.append([{**first, "date": date}, {**second, "date": day}])
        return found


def _bookable(flight: Json, day: Json) -> Json:
    return {**{key: value for key, value in flight.items() if key != "dates"}, **day}
