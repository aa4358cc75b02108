"""What a fault scope costs; ``python -m bench.integrations`` prints more, beside what peers cost."""

from __future__ import annotations

import pytest
from bench import integrations as bench


@pytest.mark.slow
def test_the_clean_path_costs_at_most_eight_microseconds():
    """The best of many turns in CPU time: about 3 µs on a quiet core."""
    name = "inject, clean path, drawn"
    assert bench.measured({name: bench.ours()[name]})[name] <= 8.0


@pytest.mark.slow
def test_memory_is_flat_over_a_million_different_calls():
    assert bench.growth(1_000_000, "mild") < 4
