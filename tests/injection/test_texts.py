import json
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench2robust.core.domain import FieldRules
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolSpec
from bench2robust.injection import TEXTS_VERSION, texts

from .shop import DOMAIN, ORDER, ORDER_TEXT, TOOLS

GOLDEN = Path(__file__).parents[1] / "golden" / "agent_texts.txt"
FIELDS = ("order_id", "items", "status")


def every_text():
    """Return every text of ours that an agent may read, by type."""
    lines = [f"texts version {TEXTS_VERSION}"]
    for noise in OBSERVABLE:
        lines.append(f"\n{noise}, a tool with the fields {', '.join(FIELDS)}")
        if noise is not NoiseType.MALFORMED:
            lines += texts.variants(noise, FIELDS)
            continue
        for true in (ORDER_TEXT, "sara_doe_496", ""):
            lines.append(f"{noise}, the true answer being {true[:12]!r}…")
            lines += sorted({texts.malformed(true, Draws("golden", n)) for n in range(8)})
    return "\n".join(lines) + "\n"


def test_texts_change_only_with_their_version():
    """A change here changes what is measured: bump TEXTS_VERSION, then write the file anew."""
    assert every_text() == GOLDEN.read_text(encoding="utf-8")


def test_table_9_word_for_word():
    assert texts.variants(NoiseType.TIMEOUT, FIELDS) == ("Error: request timed out after 30s",)
    assert texts.variants(NoiseType.RATE_LIMIT, FIELDS) == ("HTTP 429 Too Many Requests",)
    assert "HTTP 500 Internal Server Error" in texts.variants(NoiseType.SERVER_ERROR, FIELDS)
    assert "HTTP 403 Forbidden" in texts.variants(NoiseType.AUTH_ERROR, FIELDS)
    assert "Unknown field 'items_v2'" in texts.variants(NoiseType.SCHEMA_DRIFT, FIELDS)
    assert "Required field 'status' is missing" in texts.variants(NoiseType.SCHEMA_DRIFT, FIELDS)


def test_types_can_be_told_apart_by_their_texts():
    seen = [set(texts.variants(noise, FIELDS)) for noise in OBSERVABLE if noise is not NoiseType.MALFORMED]
    assert sum(map(len, seen)) == len(set.union(*seen))


@pytest.mark.parametrize(
    ("tool", "rules", "names"),
    [
        (TOOLS[0], ORDER, ("order_id", "items", "options", "note", "status")),
        (TOOLS[0], None, ("order_id",)),
        (None, ORDER, ("items", "options", "note", "status")),
        (None, None, ("result",)),
        (ToolSpec("t", "", {}), FieldRules(critical=("*", "$"), numeric=("price",)), ("result",)),
    ],
)
def test_field_names_are_known_before_any_call(tool, rules, names):
    assert texts.field_names(tool, rules) == names


@given(st.recursive(st.booleans() | st.floats(allow_nan=False) | st.text(), st.lists), st.integers())
def test_malformed_never_parses(value, seed):
    for true in (json.dumps(value), json.dumps({"a": value}), str(value), ""):
        text = texts.malformed(true, Draws(seed))
        assert text
        with pytest.raises(json.JSONDecodeError):
            json.loads(text)


@given(st.text(min_size=200), st.integers())
def test_malformed_shows_little_of_the_truth(text, seed):
    assert len(texts.malformed(json.dumps([text]), Draws(seed))) <= 123


class Given(Draws):
    """Draws that come from a list."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def uniform(self):
        return self.numbers.pop(0)


@pytest.mark.parametrize("weights", [(3, 3), (1, 3), (5, 0), (0, 2), (0, 0)])
@pytest.mark.parametrize("tool", [t.name for t in TOOLS])
def test_a_block_is_distributed_exactly_like_the_noise_it_imitates(weights, tool):
    """Both distributions, as fractions: the block's by enumerating its draws on a grid that is exact."""
    fields = texts.field_names(next(t for t in TOOLS if t.name == tool), DOMAIN.fields.get(tool))
    pools = [texts.variants(noise, fields) for noise in texts.BLOCK_TYPES]
    shares = [Fraction(w, sum(weights)) if any(weights) else Fraction(1, 2) for w in weights]
    noise = Counter()
    for share, pool in zip(shares, pools, strict=True):
        for text in pool:
            noise[text] += share / len(pool)
    steps = 12 * len(pools[0]) * len(pools[1])
    grid = [(i + 0.5) / steps for i in range(steps)]
    block = Counter()
    for u, v in product(((i + 0.5) / 12 for i in range(12)), grid):
        block[texts.blocked(weights, fields, Given(u, v))] += Fraction(1, 12 * steps)
    assert {t: p for t, p in block.items() if p} == {t: p for t, p in noise.items() if p}
