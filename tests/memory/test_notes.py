"""Live notes: from what was delivered, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust import domains
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.tools import ToolCall, ToolResponse
from bench2robust.memory.content import Alternative, Content, Variant, content
from bench2robust.memory.notes import Note, Notes, read_note, split

from .telling import made_up, words

DOWN = ToolResponse("HTTP 503 Service Unavailable", error=True)
DENIED = ToolResponse("HTTP 403 Forbidden", error=True)
FINE = ToolResponse('{"user": 3}')
OWN = ToolResponse("Error: no such badge", error=True)
CALL = ToolCall("find_user_by_badge", {"badge": "B1"})
probabilities = st.integers(0, 100).map(lambda n: n / 100)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1, max_size=30)
ways = st.builds(
    Alternative, st.lists(words, min_size=1, max_size=2).map(tuple), probabilities, st.just("") | texts
)
notes = st.builds(
    Note,
    words,
    st.integers(1, 9),
    st.sampled_from(OBSERVABLE),
    probabilities,
    st.none() | probabilities,
    st.lists(ways, max_size=3).map(tuple),
)


class Suspicious:
    """Says that what has failed twice is blocked, and remembers what it was shown."""

    def __init__(self):
        self.seen = []

    def see(self, call, delivered):
        self.seen.append((call.name, delivered.text))

    def blocked(self, tool):
        return 0.9 if len(self.seen) > 1 else 0.25


def started(variant=Variant.FULL, watcher=None):
    domain = domains.load("helpdesk")
    return Notes(content(made_up("helpdesk"), domain, domain.tools, variant, 1), watcher)


def test_what_a_note_says(golden):
    watcher = Suspicious()
    noting = started(watcher=watcher)
    said = [noting.on(CALL, DENIED), noting.on(CALL, DOWN), noting.on(ToolCall("get_orders"), DOWN)]
    golden("memory_notes.txt", "\n".join(said))
    assert watcher.seen == [
        (CALL.name, DENIED.text), (CALL.name, DOWN.text), ("get_orders", DOWN.text)
    ]  # fmt: skip


def test_failures_in_a_row_end_with_any_answer():
    noting = started()
    said = [noting.on(CALL, response) for response in (DOWN, DOWN, FINE, DOWN, OWN, DOWN)]
    assert [read_note(text).failures if text else 0 for text in said] == [1, 2, 0, 1, 0, 1]


def test_only_a_plain_failure_of_a_tool_that_can_fail_has_a_note():
    assert started().on(CALL, FINE) == started().on(CALL, OWN) == ""
    assert started().on(ToolCall("transfer_to_human"), DOWN) == ""
    assert started().on(ToolCall("made_up_tool"), DOWN) == ""


def test_what_the_variants_leave_out():
    full, static, dynamic = (
        read_note(started(variant).on(CALL, DOWN))
        for variant in (Variant.FULL, Variant.STATIC, Variant.DYNAMIC)
    )
    assert full.alternatives[0].note
    assert (full.recovery, static.recovery) == (0.44, 0.5)
    assert [way.probability for way in static.alternatives] == [0.5]
    assert [way.note for way in dynamic.alternatives] in ([], [""])
    assert started(Variant.NONE).on(CALL, DOWN) == ""


@given(notes)
def test_every_note_is_read_back(note):
    assert read_note(str(note)) == note
    shown = ToolResponse("HTTP 500", True, str(note)).shown
    assert read_note(shown) == note
    assert split(shown) == ("HTTP 500", str(note))


@pytest.mark.parametrize(
    "text", ["", "HTTP 500", "<recovery_note>", "<recovery_note>\nx: 1 failure\n</recovery_note>"]
)
def test_where_there_is_no_note_none_is_read(text):
    assert read_note(text) is None
    assert split(text) == (text, "")


def test_nothing_to_tell_is_no_note():
    assert Notes(Content()).on(CALL, DOWN) == ""
    assert NoiseType.SERVER_ERROR in str(Note("a", 1, NoiseType.SERVER_ERROR, 0.5))
