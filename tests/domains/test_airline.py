from bench2robust import domains

AIRLINE = domains.load("airline")


def test_classes_and_sides():
    assert {c.name: {s.name: s.tools for s in c.sides} for c in AIRLINE.classes} == {
        "user": {
            "get_user_details": ("get_user_details",),
            "profile_and_payments": ("get_user_profile", "list_payment_methods"),
        },
        "reservation": {name: (name,) for name in ("get_reservation_details", "find_reservations")},
        "flight": {
            name: (name,) for name in ("search_direct_flight", "search_flights", "get_flight_details")
        },
        "connection": {name: (name,) for name in ("search_onestop_flight", "search_flights")},
        "status": {name: (name,) for name in ("get_flight_status", "get_flight_details")},
    }


def test_a_state_is_earlier_than_what_follows_it():
    assert AIRLINE.earlier == {
        "on time": ("available",),
        "delayed": ("on time", "available"),
        "flying": ("on time", "delayed", "available"),
        "landed": ("flying", "on time", "delayed", "available"),
        "cancelled": ("on time", "available"),
        "silver": ("regular",),
        "gold": ("silver", "regular"),
    }


def test_every_tool_of_a_class_has_a_note_on_what_it_lacks():
    assert set().union(*(cls.tools for cls in AIRLINE.classes)) == AIRLINE.granularity.keys()


def test_only_handing_over_is_exempt():
    assert AIRLINE.exempt == {"transfer_to_human_agents"}
