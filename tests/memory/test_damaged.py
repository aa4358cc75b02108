"""Memories that somebody or something has damaged are one line, never a traceback."""

import json
import sqlite3

import pytest

from bench2robust import domains
from bench2robust.core.errors import MemoryFileError
from bench2robust.memory import Memory, keep

LARGE = 10**400


@pytest.mark.parametrize(
    "part",
    [
        {"errors": {"get_tickets": {"timeout": [LARGE, 1]}}},
        {"errors": {"get_tickets": {"timeout": [1e308, 1]}}},
        {"pooling": LARGE},
        {"half_life": LARGE},
        {"sources": [{"run": "x", "episodes": float("inf")}]},
        {"sources": [{"run": "x", "episodes": -1}]},
        {"sources": [{"run": "x", "episodes": 1, "benchmark": "helpdesk", "seeds": [float("inf")]}]},
        {"sources": [{"run": "x", "episodes": 1, "benchmark": "helpdesk", "agents": "abc"}]},
        {"schema": True},
        {"schema": 1.0},
    ],
    ids=str,
)
def test_values_that_cannot_be(tmp_path, part):
    file = tmp_path / "memory.json"
    Memory("helpdesk").save(file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **part}))
    with pytest.raises(MemoryFileError, match="expected") as caught:
        Memory.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM about WHERE name = 'sources'",
        "DELETE FROM about WHERE name = 'half_life'",
        "UPDATE about SET value = '[1' WHERE name = 'sources'",
        "INSERT INTO cells VALUES ('foo', 'a', 'b', 1, 1, 0)",
    ],
)
def test_a_store_that_lacks_something(tmp_path, damage):
    file = tmp_path / "memory.db"
    keep(file, domains.load("helpdesk")).close()
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(damage)
    connection.close()
    with pytest.raises(MemoryFileError, match="damaged"):
        Memory.load(file)
