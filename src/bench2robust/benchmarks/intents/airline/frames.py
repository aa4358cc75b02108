"""How a user says each kind of airline write, after "You want to"."""

from __future__ import annotations

CANCEL, REBOOK, BAGS, RENAME, BOOK, COMPENSATE = (
    "cancel_reservation",
    "update_reservation_flights",
    "update_reservation_baggages",
    "update_reservation_passengers",
    "book_reservation",
    "send_certificate",
)

FRAMES: dict[str, tuple[str, ...]] = {
    CANCEL: ("cancel {trip}{reason}", "have {trip} cancelled{reason}", "get {trip} cancelled{reason}"),
    "cabin": (
        "change the cabin of {trip} to {cabin}{payment}",
        "switch {trip} to {cabin} without changing the flights{payment}",
        "have the seats of {trip} moved to {cabin}{payment}",
        "fly in {cabin} on {trip}, changing nothing else of it{payment}",
    ),
    "date": (
        "move {trip} to {date}, taking the cheapest direct flight of that day{payment}",
        "change {trip} so that it leaves on {date}, on the cheapest nonstop flight{payment}",
        "push {trip} to the cheapest direct flight on {date}{payment}",
    ),
    BAGS: (
        "add {bags} to {trip}{payment}",
        "take {bags} along on {trip}{payment}",
        "have {bags} added to {trip}{payment}",
    ),
    RENAME: (
        "change a passenger of {trip}: {passenger}",
        "correct who travels on {trip}: {passenger}",
        "replace somebody on {trip}: {passenger}",
    ),
    BOOK: (
        "book a one-way flight for yourself {route}, on {date}, in {cabin}, the cheapest direct one, without "
        "bags and without insurance{payment}",
        "make a reservation for yourself {route}, one way, on {date}, in {cabin}, on the cheapest nonstop "
        "flight, with no bags and no insurance{payment}",
    ),
    COMPENSATE: (
        "be compensated for the {status} flight of {trip}",
        "get compensation for {trip}, in which a flight was {status}",
        "complain about the {status} flight of {trip} and receive a certificate",
    ),
}

SUBJECTS = {
    CANCEL: "the cancellation",
    "cabin": "the cabin",
    "date": "the other day",
    BAGS: "the bags",
    RENAME: "the passenger",
    BOOK: "the booking",
    COMPENSATE: "the compensation",
}
"""What an answer calls a wish when the user wants several things."""

COVERED = (
    ("because you are ill", "I am ill"),
    ("for health reasons", "It is for health reasons"),
    ("because your doctor told you not to fly", "My doctor told me not to fly"),
    ("because of the weather at your destination", "It is because of the weather there"),
)
"""Reasons that the insurance covers, as (phrase, answer)."""

OTHER = (
    ("because your plans have changed", "My plans have changed"),
    ("as there is no need for the trip any more", "There is no need for the trip any more"),
    ("because of a meeting at home", "I have a meeting at home"),
)

CITIES = {
    "SFO": "San Francisco", "LAX": "Los Angeles", "ORD": "Chicago", "DFW": "Dallas", "DEN": "Denver",
    "SEA": "Seattle", "ATL": "Atlanta", "MIA": "Miami", "BOS": "Boston", "PHX": "Phoenix", "IAH": "Houston",
    "LAS": "Las Vegas", "MCO": "Orlando", "EWR": "Newark", "CLT": "Charlotte", "MSP": "Minneapolis",
    "DTW": "Detroit", "PHL": "Philadelphia", "LGA": "LaGuardia",
}  # fmt: skip
"""Airports that a city's name says unmistakably; JFK is said by its code."""

FIRST_NAMES = ("Ada", "Bruno", "Celia", "Dario", "Edith", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Klara",
               "Linus", "Marta", "Nils", "Olga", "Pablo", "Rosa", "Stefan", "Thea", "Viktor")  # fmt: skip
LAST_NAMES = ("Abrams", "Bergman", "Castillo", "Dupont", "Eriksen", "Fontaine", "Gruber", "Holm", "Ivanov",
              "Jansen", "Keller", "Lindgren", "Moreau", "Novak", "Olsen", "Petrov", "Rossi", "Sorensen")  # fmt: skip
