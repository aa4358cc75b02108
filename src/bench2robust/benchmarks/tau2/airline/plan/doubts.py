"""What looks wrong in a delivered fact, by redundancies that hold in all of τ²'s airline database."""

from __future__ import annotations

from typing import Any

CABINS = ("basic_economy", "economy", "business")
"""From the cheapest to the dearest: so they are on every flight and date of the database."""


def user_doubts(value: Any) -> str | None:
    """Say what looks wrong in a user's record."""
    if not isinstance(value, dict):
        return "no record"
    for key in ("payment_methods", "saved_passengers", "dob"):
        if not value.get(key):
            return f"{key} is empty"
    if any(not person.get("dob") for person in value["saved_passengers"]):
        return "a saved passenger has no date of birth"
    return None


def trip_doubts(value: Any) -> str | None:
    """Say what looks wrong in a reservation."""
    if not isinstance(value, dict):
        return "no record"
    flights, people, payments = (value.get(key) for key in ("flights", "passengers", "payment_history"))
    if not flights or not people or not payments:
        return "flights, passengers or payments are empty"
    if any(not person.get("last_name") or not person.get("dob") for person in people):
        return "a passenger has no name or date of birth"
    paid = sum(payment.get("amount") or 0 for payment in payments)
    if value.get("status") == "cancelled":
        return None if paid == 0 else "cancelled, but not refunded in full"
    fares = sum(flight.get("price") or 0 for flight in flights) * len(people)
    insurance = 30 * len(people) if value.get("insurance") == "yes" else 0
    bags = 50 * (value.get("nonfree_baggages") or 0)
    return None if paid - fares - insurance in (0, bags) else "payments do not add up to the fares"


def flight_doubts(value: Any) -> str | None:
    """Say what looks wrong in a flight that can be booked."""
    if not isinstance(value, dict):
        return "no record"
    prices = value.get("prices")
    if not prices or not value.get("available_seats"):
        return "prices or seats are empty"
    ordered = [prices.get(cabin) or 0 for cabin in CABINS]
    return None if ordered == sorted(ordered) else "a better cabin is cheaper"


def flights_doubts(value: Any) -> str | None:
    """Say what looks wrong in the direct flights of a route. That there are none may well be."""
    return next((doubt for doubt in map(flight_doubts, value) if doubt), None)


def pairs_doubts(value: Any) -> str | None:
    """Say what looks wrong in the connections of a route."""
    return next((doubt for pair in value for doubt in map(flight_doubts, pair) if doubt), None)
