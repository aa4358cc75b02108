"""How a user says each kind of retail write, after "You want to"."""

from __future__ import annotations

FRAMES: dict[str, tuple[str, ...]] = {
    "cancel_pending_order": (
        "cancel {order}{reason}",
        "have {order} cancelled{reason}",
        "call off {order}{reason}",
        "stop {order} before it ships{reason}",
        "withdraw {order}{reason}",
        "drop {order} entirely{reason}",
    ),
    "return_delivered_order_items": (
        "return {item} from {order}{payment}",
        "send back {item} out of {order}{payment}",
        "give back {item} from {order}{payment}",
        "get your money back for {item} in {order}{payment}",
        "start a return for {item} in {order}{payment}",
        "hand {item} from {order} back to the shop{payment}",
    ),
    "exchange_delivered_order_items": (
        "exchange {item} from {order} {option}{payment}",
        "swap {item} out of {order} {option}{payment}",
        "trade {item} from {order} {option}{payment}",
        "request an exchange of {item} in {order} {option}{payment}",
        "have {item} from {order} exchanged {option}{payment}",
    ),
    "modify_pending_order_items": (
        "modify {item} in {order}, trading it {option}{payment}",
        "replace {item} in {order}, swapping it {option}{payment}",
        "switch {item} in {order} {option}{payment}",
        "swap {item} in {order} {option} before it ships{payment}",
        "edit {order} so that {item} is replaced, {option}{payment}",
    ),
    "modify_pending_order_address": (
        "have {order} delivered to {address}",
        "change the shipping address of {order} to {address}",
        "redirect {order} to {address}",
        "send {order} to {address} instead of where it is headed",
        "correct the delivery address of {order}, making it {address}",
    ),
    "modify_pending_order_payment": (
        "pay for {order} with {payment} instead",
        "change the payment for {order} to {payment}",
        "move the charge for {order} over to {payment}",
        "use {payment} rather than the method you chose for {order}",
    ),
    "modify_user_address": (
        "change the default address in your profile to {address}",
        "update your profile so that your address is {address}",
        "put {address} down as your default address",
        "make {address} your new default address",
    ),
}

SUBJECTS = {
    "cancel_pending_order": "the cancellation",
    "return_delivered_order_items": "the return",
    "exchange_delivered_order_items": "the exchange",
    "modify_pending_order_items": "the replacement",
    "modify_pending_order_address": "the delivery",
    "modify_pending_order_payment": "the payment",
    "modify_user_address": "the profile",
}
"""What an answer calls a wish when the user wants several things."""

REASONS = {
    "no longer needed": (
        ("because you no longer need it", "It is no longer needed"),
        ("since it is no longer needed", "I no longer need it"),
        ("as you no longer have any need for it", "I no longer have a need for it"),
    ),
    "ordered by mistake": (
        ("because you ordered it by mistake", "I ordered it by mistake"),
        ("since it was ordered by mistake", "It was ordered by mistake"),
        ("as you mistakenly placed it", "I mistakenly placed it"),
    ),
}
"""Reason to (phrase, answer) pairs."""

STREETS = (
    "Alder", "Birchwood", "Clearwater", "Dogwood", "Foxglove", "Garfield", "Hawthorne", "Ironwood", "Juniper",
    "Kingsley", "Larkspur", "Magnolia", "Northgate", "Orchard", "Pinecrest", "Quarry", "Rosewater", "Sycamore",
    "Thornbury", "Underhill", "Vineyard", "Whitaker",
)  # fmt: skip
KINDS_OF_STREET = ("Street", "Avenue", "Lane", "Drive", "Court", "Road", "Boulevard")
