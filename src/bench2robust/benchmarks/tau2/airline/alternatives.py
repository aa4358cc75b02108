"""Five airline tools of ours: second ways to what τ²'s 14 tools give by one way only.

τ²'s airline has no two tools with the same information (`search_direct_flight` and
`search_onestop_flight` return different itineraries, `get_user_details` lists reservation numbers
only), so these exist in the modes with alternatives. They read the live state of an episode.
Signatures and docstrings are what an agent is told of them (golden-tested).
"""

import json
from typing import Any

from bench2robust.benchmarks.tau2.provider import airline_code
from bench2robust.benchmarks.tau2.store import World

ALTERNATIVES = (
    "find_reservations",
    "get_user_profile",
    "list_payment_methods",
    "search_flights",
    "get_flight_details",
)
"""The five alternative tools, in the order in which an agent is told of them."""


class AirlineAlternatives:
    """The added tools on one episode's world. All only read; an unknown id raises as τ²'s tools do."""

    __slots__ = ("_db",)

    def __init__(self, world: World) -> None:
        self._db = world

    def find_reservations(
        self, user_id: str, origin: str | None = None, destination: str | None = None, date: str | None = None
    ) -> Any:
        """Find the reservations of a user, complete, without knowing a reservation id.

        All reservations of the user are returned, or only those with the origin, the destination or a
        flight on the date given. Each has everything that get_reservation_details gives.

        Args:
            user_id: The user ID, such as 'sara_doe_496'.
            origin: The trip's origin airport in three letters, such as 'JFK'. Leave out to search all.
            destination: The trip's destination airport in three letters, such as 'LAX'. Leave out to search all.
            date: The date of a flight of the trip in the format 'YYYY-MM-DD', such as '2024-05-01'. Leave out to search all.

        Returns:
            A list of reservations; empty if none fits.

        Raises:
            ValueError: If the user is not found.
        """
        found = (self._db.reservations[key] for key in self._user(user_id).reservations)
        return [
            one
            for one in found
            if origin in (None, one.origin)
            and destination in (None, one.destination)
            and (date is None or any(flight.date == date for flight in one.flights))
        ]

    def get_user_profile(self, user_id: str) -> str:
        """Get who a user is: name, address, email, date of birth, saved passengers, membership, reservation ids.

        It does not show the payment methods.

        Args:
            user_id: The user ID, such as 'sara_doe_496'.

        Returns:
            A JSON string with the user's details without payment methods.

        Raises:
            ValueError: If the user is not found.
        """
        return json.dumps(self._user(user_id).model_dump(exclude={"payment_methods"}))

    def list_payment_methods(self, user_id: str) -> str:
        """Get the payment methods of a user, with what is left on gift cards and certificates.

        It shows nothing else of the user.

        Args:
            user_id: The user ID, such as 'sara_doe_496'.

        Returns:
            A JSON string that maps each payment id to the payment method.

        Raises:
            ValueError: If the user is not found.
        """
        return json.dumps(self._user(user_id).model_dump(include={"payment_methods"})["payment_methods"])

    def search_flights(self, origin: str, destination: str, date: str) -> Any:
        """Search for flights between two cities on a specific date, direct and with one stop, at once.

        The direct flights are those of search_direct_flight, the one-stop flights those of search_onestop_flight.

        Args:
            origin: The origin city airport in three letters, such as 'JFK'.
            destination: The destination city airport in three letters, such as 'LAX'.
            date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-01-01'.

        Returns:
            An object with the list 'direct' of flights and the list 'one_stop' of pairs of flights.
        """
        tools = airline_code().tools(self._db)
        return {
            "direct": tools.search_direct_flight(origin, destination, date),
            "one_stop": tools.search_onestop_flight(origin, destination, date),
        }

    def get_flight_details(self, flight_number: str, date: str) -> str:
        """Get everything about one flight on a date: route, schedule, status, and seats and prices while it can be booked.

        A flight that cannot be booked has its estimated or actual times instead of seats and prices.

        Args:
            flight_number: The flight number, such as 'HAT001'.
            date: The date of the flight in the format 'YYYY-MM-DD', such as '2024-05-01'.

        Returns:
            A JSON string with the flight's details on that date.

        Raises:
            ValueError: If the flight is not found.
        """
        if flight_number not in self._db.flights:
            raise ValueError(f"Flight {flight_number} not found")
        flight = self._db.flights[flight_number]
        if date not in flight.dates:
            raise ValueError(f"Flight {flight_number} not found on date {date}")
        return json.dumps(
            {**flight.model_dump(exclude={"dates"}), "date": date, **flight.dates[date].model_dump()}
        )

    def _user(self, user_id: str) -> Any:
        if user_id not in self._db.users:
            raise ValueError(f"User {user_id} not found")
        return self._db.users[user_id]
