"""Golden files: what models are given changes only on purpose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[2] / "golden"


@pytest.fixture
def golden():
    """Compare a text with a file; ``B2R_GOLDEN=write`` writes it instead."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("B2R_GOLDEN") == "write":
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8"), f"{name} has changed"

    return check
