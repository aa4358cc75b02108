"""Memories to be told of, made up so that every probability differs from its neighbours."""

from __future__ import annotations

from hypothesis import strategies as st

from bench2robust import domains
from bench2robust.core.domain import Domain, EquivalenceClass, Side
from bench2robust.core.noise import NOISE_TYPES
from bench2robust.memory.beliefs import Belief, Beliefs
from bench2robust.memory.memory import Memory
from bench2robust.memory.structure import fallbacks, recoverable


def made_up(name: str) -> Memory:
    """Return a memory of a domain in which every second way round was taken, and one tool was never met."""
    domain = domains.load(name)
    tools = recoverable(domain, domain.tools)
    errors = {
        (tool, noise): Belief((7 * row + 3 * column) % 19, (5 * row + 4 * column) % 13)
        for row, tool in enumerate(tools[1:])
        for column, noise in enumerate(NOISE_TYPES)
    }
    ways = [(way.source, target) for way in fallbacks(domain, domain.tools) for target in way.tools][::2]
    switches = {pair: Belief((3 * place + 2) % 7, place % 4) for place, pair in enumerate(ways)}
    return Memory(name, Beliefs(errors, switches))


words = st.text("abcxyz_-.019", min_size=1, max_size=8)
"""Names of tools, as endpoints take them."""
notes = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@st.composite
def worlds(draw):
    """Return a domain, the tools on offer in it, and a memory of it."""
    tools = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    some = st.lists(st.sampled_from(tools), min_size=1, max_size=2, unique=True).map(tuple)
    sides = st.lists(some, min_size=2, max_size=3, unique=True).map(
        lambda found: tuple(Side(f"s{n}", side) for n, side in enumerate(found))
    )
    classes = draw(st.lists(sides, max_size=3)) if len(tools) > 1 else []
    domain = Domain(
        "d",
        classes=tuple(EquivalenceClass(f"c{n}", found) for n, found in enumerate(classes)),
        granularity=draw(st.dictionaries(st.sampled_from(tools), notes, max_size=6)),
        exempt=frozenset(draw(st.lists(st.sampled_from(tools), max_size=1))),
        constraints=draw(st.none() | st.lists(notes, max_size=4).map(tuple)),
        tools=tuple(tools),
    )
    counts = st.builds(Belief, st.integers(0, 50).map(float), st.integers(0, 50).map(float))
    pairs = st.tuples(st.sampled_from(tools), st.sampled_from(tools))
    beliefs = Beliefs(
        draw(
            st.dictionaries(
                st.tuples(st.sampled_from(tools), st.sampled_from(NOISE_TYPES)), counts, max_size=9
            )
        ),
        draw(st.dictionaries(pairs, counts, max_size=5)),
    )
    offered = draw(st.lists(st.sampled_from(tools), unique=True))
    return domain, tuple(offered), Memory("d", beliefs)
