from bench2robust import domains

RETAIL = domains.load("retail")


def test_classes_and_sides_are_the_designs():
    assert {c.name: {s.name: s.tools for s in c.sides} for c in RETAIL.classes} == {
        "identity": {
            "email": ("find_user_id_by_email",),
            "name_zip": ("find_user_id_by_name_zip",),
            "by_order": ("get_user_by_order",),
            "inside_order": ("get_order_details",),
        },
        "order": {
            "get_order_details": ("get_order_details",),
            "orders_and_availability": ("get_orders_for_user", "check_order_item_availability"),
        },
        "product": {
            name: (name,)
            for name in (
                "get_product_details",
                "search_product_by_name",
                "check_order_item_availability",
                "get_item_by_product_options",
            )
        },
    }


def test_a_state_is_earlier_than_what_follows_it():
    assert RETAIL.earlier == {
        "pending (item modified)": ("pending",),
        "processed": ("pending",),
        "delivered": ("processed", "pending"),
        "return requested": ("delivered", "processed", "pending"),
        "exchange requested": ("delivered", "processed", "pending"),
        "cancelled": ("pending",),
    }


def test_every_tool_of_a_class_has_a_note_on_what_it_lacks():
    assert set().union(*(cls.tools for cls in RETAIL.classes)) <= RETAIL.granularity.keys()


def test_only_handing_over_is_exempt():
    assert RETAIL.exempt == {"transfer_to_human_agents"}
