"""The block that agents read: Figure 1 word for word, its variants, and reading it back."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench2robust import domains
from bench2robust.core.domain import Domain
from bench2robust.memory.advice import read_block
from bench2robust.memory.block import block, tokens, write
from bench2robust.memory.content import Content, Variant, content
from bench2robust.memory.memory import Memory
from bench2robust.memory.structure import CONSTRAINTS, constraints, fallbacks

from .telling import made_up, worlds

VALUE = re.compile(r"=(\d\.\d\d)")
TOLD = [variant for variant in Variant if variant is not Variant.NONE]
STANDARD = 16
"""Retail's tools without the alternatives come first."""
FIGURE = """\
<tool_reliability>
Tool recovery beliefs (Beta posterior, from historical data):
get_order:
  P(episode recovery | error): timeout=0.50, rate_limit=0.50,
    server_error=0.50, auth_error=0.50, schema_drift=0.50,
    malformed_response=0.50, partial=0.50, stale=0.50,
    factual_error=0.50
How to use: Compare P(recovery) vs P(switch) for your error.
  High P(recovery) -> retry this tool.
  Low P(recovery) + high P(switch) -> switch to alternative.
  After switching, verify returned data has needed fields.
  If both low -> ask the user or transfer.
Critical constraints:
1. If a tool fails, retry at least once before other options.
2. After switching, verify returned data provides ALL required
   fields at the right granularity.
3. Before any irreversible action, confirm every required field
   from actual tool responses. Do not guess missing fields.
4. After calling a write tool, check the response for errors.
5. Only transfer after exhausting retry and alternative paths.
</tool_reliability>"""


@pytest.mark.parametrize("name", domains.names())
def test_every_domains_block(golden, name):
    domain = domains.load(name)
    golden(f"memory_{name}.txt", block(made_up(name), domain, domain.tools))


@pytest.mark.parametrize("variant", [Variant.STATIC, Variant.DYNAMIC, Variant.SHUFFLED])
def test_every_variant(golden, variant):
    domain = domains.load("helpdesk")
    golden(f"memory_helpdesk_{variant}.txt", block(made_up("helpdesk"), domain, domain.tools, variant, 3))


def test_without_alternatives_only_what_is_there_is_told(golden):
    domain = domains.load("retail")
    text = block(made_up("retail"), domain, domain.tools[:STANDARD])
    golden("memory_retail_standard.txt", text)
    assert not any(tool in text for tool in domain.tools[STANDARD:])
    assert "find_user_id_by_email -> find_user_id_by_name_zip" in text


def test_a_domain_of_which_nothing_is_known():
    assert block(Memory("shop"), Domain("shop"), ["get_order"]) == FIGURE
    assert (
        block(Memory("shop"), Domain("shop", exempt=frozenset({"get_order"}), constraints=()), ["get_order"])
        == ""
    )


def test_the_constraints_are_the_templates_where_there_is_a_calculator():
    assert constraints(Domain("shop"), ["calculate"]) == CONSTRAINTS
    assert len(constraints(Domain("shop"), ["add"])) == 5
    assert constraints(Domain("shop", constraints=("Ask\n first.",)), []) == ("Ask first.",)


@pytest.mark.parametrize("name", ["retail", "airline", "telecom", "helpdesk"])
def test_no_tool_is_named_that_is_not_on_offer(name):
    domain = domains.load(name)
    for out in domain.tools:
        rest = [tool for tool in domain.tools if tool != out]
        named = set(re.findall(r"[a-z_]+", _without_notes(block(made_up(name), domain, rest))))
        assert out not in named - {"add"}  # a word of ours too


def _without_notes(text):
    """Leave out notes and constraints: a note may compare a tool with one that this task does not have."""
    text = text.partition("Critical constraints")[0]
    return re.sub(r"(\(P=\d\.\d\d)?[(,] [^\n]*\)\n|\([^\n]*\)\n", "\n", text)


@given(worlds(), st.sampled_from(list(Variant)), st.integers(0, 3))
def test_every_block_is_read_back(world, variant, seed):
    domain, offered, memory = world
    told = content(memory, domain, offered, variant, seed)
    read = read_block(f"Be kind.\n\n{write(told)}\n\nThat is all.")
    rounded = told.with_values([float(f"{value:.2f}") for value in told.values])
    assert read == rounded


@pytest.mark.parametrize(
    "text", ["", "Be kind.", "<tool_reliability>", "</tool_reliability> <tool_reliability>"]
)
def test_where_there_is_no_block_nothing_is_read(text):
    assert read_block(text) == Content()


def test_what_is_no_line_of_a_block_means_nothing():
    lines = "<tool_reliability>\nHello.\n  Alternative: x\n    timeout=0.10\n- a, b\n1. Retry.\n</tool_reliability>"
    assert read_block(lines) == Content()


@given(worlds(), st.integers(0, 9))
def test_shuffling_changes_places_only(world, seed):
    domain, offered, memory = world
    full = block(memory, domain, offered)
    shuffled = block(memory, domain, offered, Variant.SHUFFLED, seed)
    assert VALUE.sub("", shuffled) == VALUE.sub("", full)
    assert Counter(VALUE.findall(shuffled)) == Counter(VALUE.findall(full))


def test_shuffling_is_drawn_from_the_seed():
    domain, memory = domains.load("retail"), made_up("retail")
    texts = [block(memory, domain, domain.tools, Variant.SHUFFLED, seed) for seed in (0, 0, 1, 2)]
    assert texts[0] == texts[1]
    assert len({block(memory, domain, domain.tools), *texts}) == 4


@given(worlds())
def test_static_knows_no_probability(world):
    domain, offered, memory = world
    full, static = (block(memory, domain, offered, variant) for variant in (Variant.FULL, Variant.STATIC))
    assert set(VALUE.findall(static)) <= {"0.50"}
    assert VALUE.sub("", static) == VALUE.sub("", full)
    assert static == block(Memory("d"), domain, offered)


@given(worlds())
def test_dynamic_knows_no_structure(world):
    domain, offered, memory = world
    told = content(memory, domain, offered, Variant.DYNAMIC)
    assert (told.paths, told.constraints) == ((), ())
    for tool, ways in told.alternatives.items():
        assert [(tool, *way.tools, way.note) for way in ways] == [
            (tool, target, "") for target in offered if (tool, target) in memory.beliefs.switches
        ]
    bare = replace(domain, classes=(), granularity={}, constraints=())
    assert block(memory, bare, offered, Variant.DYNAMIC) == block(memory, domain, offered, Variant.DYNAMIC)


@given(worlds())
def test_none_is_no_text(world):
    domain, offered, memory = world
    assert block(memory, domain, offered, Variant.NONE) == ""


@given(worlds())
def test_every_other_side_on_offer_is_a_fallback_and_no_other(world):
    domain, offered, _ = world
    found = {(way.source, way.tools) for way in fallbacks(domain, offered)}
    for source in offered:
        for cls in domain.classes:
            for side in cls.sides:
                around = source in cls.tools and source not in side.tools and set(side.tools) <= set(offered)
                assert ((source, side.tools) in found) or not around or source in domain.exempt
    for source, tools in found:
        assert source not in domain.exempt
        assert {source, *tools} <= set(offered)
        assert all(domain.switches(source, tool) for tool in tools)


@given(st.text())
@example("")
def test_four_characters_are_a_token(text):
    assert 4 * tokens(text) - 3 <= len(text) <= 4 * tokens(text) or (text == "" and tokens(text) == 0)
