"""Who travels: passengers chosen from the delivered records, or said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .policy import people
from .trips import Trips
from .world import Json, NoMatch, World


def person(first: object, last: object, dob: object) -> dict[str, str]:
    """Return a passenger as the write tools want one."""
    if not first or not last or not dob:
        raise NoMatch("a passenger lacks a name or a date of birth")
    return {"first_name": str(first), "last_name": str(last), "dob": str(dob)}


class Persons(Protocol):
    """Chooses one or more passengers."""

    def of(self, world: World) -> list[dict[str, str]]:
        """Return them."""
        ...


@dataclass(frozen=True, slots=True)
class Me:
    """The user."""

    def of(self, world: World) -> list[dict[str, str]]:
        """Take name and date of birth from the profile."""
        user = world.user()
        name = user.get("name") or {}
        return [person(name.get("first_name"), name.get("last_name"), user.get("dob"))]


@dataclass(frozen=True, slots=True)
class Saved:
    """A passenger saved in the user's profile, named by the user."""

    first: str
    last: str = ""

    def of(self, world: World) -> list[dict[str, str]]:
        """Take the date of birth from the profile."""
        for one in world.user().get("saved_passengers") or []:
            if one.get("first_name") == self.first and self.last in ("", one.get("last_name")):
                return [person(self.first, one.get("last_name"), one.get("dob"))]
        raise NoMatch(f"no saved passenger {self.first}")


@dataclass(frozen=True, slots=True)
class Told:
    """Somebody of whom the user says everything."""

    first: str
    last: str
    dob: str

    def of(self, world: World) -> list[dict[str, str]]:
        """Return what was said."""
        return [person(self.first, self.last, self.dob)]


@dataclass(frozen=True, slots=True)
class Everyone:
    """All passengers of a reservation."""

    trips: Trips

    def of(self, world: World) -> list[dict[str, str]]:
        """Return them in their order."""
        return [_of(one) for one in people(self.trips.one(world))]


@dataclass(frozen=True, slots=True)
class Nth:
    """A passenger of a reservation, by place, with what the user says is new of the name."""

    trips: Trips
    place: int
    first: str = ""
    last: str = ""
    dob: str = ""

    def of(self, world: World) -> list[dict[str, str]]:
        """Return the passenger."""
        found = people(self.trips.one(world))
        if self.place >= len(found):
            raise NoMatch(f"no passenger {self.place + 1}")
        one = found[self.place]
        return [
            person(
                self.first or one.get("first_name"),
                self.last or one.get("last_name"),
                self.dob or one.get("dob"),
            )
        ]


@dataclass(frozen=True, slots=True)
class Named:
    """A passenger of a reservation, by the name that the user says, with what is new of it."""

    trips: Trips
    old: tuple[str, str]
    """First name, and last name where it is said too."""
    first: str = ""
    last: str = ""
    dob: str = ""

    def of(self, world: World) -> list[dict[str, str]]:
        """Return all passengers, this one changed."""
        found = [_of(one) for one in people(self.trips.one(world))]
        fits = [p for p in found if p["first_name"] == self.old[0] and self.old[1] in ("", p["last_name"])]
        if len(fits) != 1:
            raise NoMatch(f"{len(fits)} passengers are called {' '.join(self.old).strip()}")
        fits[0].update(
            {k: v for k, v in (("first_name", self.first), ("last_name", self.last), ("dob", self.dob)) if v}
        )
        return found


def _of(one: Json) -> dict[str, str]:
    return person(one.get("first_name"), one.get("last_name"), one.get("dob"))
