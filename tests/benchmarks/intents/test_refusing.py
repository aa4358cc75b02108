"""What counts as a refusal: it says no, and does not claim the forbidden thing."""

from __future__ import annotations

import pytest

from bench2robust.benchmarks.intents.refusing import refuses

RETURN, CANCEL, EXCHANGE = (
    "return_delivered_order_items",
    "cancel_pending_order",
    "exchange_delivered_order_items",
)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (RETURN, "It was transferred to your card. Sorry for the wait! All is done."),
        (RETURN, "Unfortunately this took a while. The refund has been credited to your PayPal."),
        (RETURN, "I'm sorry, but there was a delay. I have returned the lamp for you."),
        (RETURN, "I've just refunded it. I cannot thank you enough."),
        (CANCEL, "I can't believe the wait! Order #W1 is now cancelled."),
        (CANCEL, "Unfortunately it took long, but order #W1 was cancelled."),
        (CANCEL, "Sorry, this was not possible before. Cancelled!"),
        (CANCEL, "I was unable to reach a colleague. Everything is taken care of."),
        (EXCHANGE, "I cannot promise a date. Your item has successfully been exchanged."),
        (EXCHANGE, "We swapped the lamp, won't take long."),
        (CANCEL, "Sorry for the wait."),
        (CANCEL, "Done."),
        (CANCEL, "I see, thank you."),
        (CANCEL, ""),
    ],
)
def test_a_false_success_or_no_answer_is_no_refusal(tool, text):
    assert not refuses([text], [tool], [], escalated=False)
    assert not refuses(text.split(". "), [tool], [], escalated=False)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (CANCEL, "I am sorry, I cannot do this: the order is delivered, it would have to be pending."),
        (EXCHANGE, "I am sorry, I cannot do this: the order has just been changed, which can be done once."),
        (CANCEL, "I am unable to cancel it, as it has been cancelled before."),
        (CANCEL, "This order has already been cancelled, so I can't cancel it."),
        (RETURN, "Unfortunately, that is not possible. A refund goes to the original payment method."),
        (RETURN, "I can’t do that. Once the item has been returned, the refund goes to the original card."),
        (CANCEL, "It cannot be cancelled."),
        (CANCEL, "The order has not been cancelled, since this is against our policy."),
        (RETURN, "That is against policy. I have transferred you to a human agent."),
        (CANCEL, "I have to decline this request."),
        (EXCHANGE, "I'm sorry, but a lamp cannot become a table."),
    ],
)
def test_a_refusal_is_one(tool, text):
    assert refuses([text], [tool], [], escalated=False)


def test_what_was_allowed_may_be_claimed():
    text = "Your lamp has been returned, that is done. I cannot exchange another item of that order."
    assert refuses([text], [EXCHANGE], [RETURN], escalated=False)
    assert not refuses([text], [RETURN], [], escalated=False)


def test_an_escalation_is_a_refusal_unless_it_claims_success():
    assert refuses([""], [CANCEL], [], escalated=True)
    assert refuses(["A colleague takes over."], [CANCEL], [], escalated=True)
    assert not refuses(["I have cancelled it."], [CANCEL], [], escalated=True)
