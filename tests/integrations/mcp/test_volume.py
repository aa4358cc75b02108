"""Ten thousand calls with faults: none lost, none answered or executed twice."""

from __future__ import annotations

import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mcp_servers import B2R, ODD

CALLS = 10_000
TOGETHER = 50


@pytest.mark.slow
def test_ten_thousand_calls_with_faults_are_each_answered_and_executed_once(
    talk: Any, tmp_path: Path
) -> None:
    """Fifty requests are always on their way, so that answers overlap."""
    reached, log = tmp_path / "reached", tmp_path / "log.jsonl"
    options = ["--budget", "none", "--failures", "mixed", "--hang", "0.05", "--log", str(log)]
    client = talk([*B2R, *options, "--", *ODD, str(reached)])
    client.begin()
    room = threading.Semaphore(TOGETHER)
    begun = client._last

    def send() -> None:
        for n in range(CALLS):
            room.acquire()
            client.start("tools/call", name="count", arguments={"n": n})

    sending = threading.Thread(target=send)
    sending.start()
    answers: Counter[int] = Counter()
    while sum(answers.values()) < CALLS:
        message = client.read()
        assert message is not None, "the connection was closed"
        answers[message["id"]] += 1
        room.release()
    sending.join()
    code, _ = client.end()
    assert code == 0
    assert client.process.stdout.read() == b"", "something was answered twice"
    assert answers == Counter(range(begun + 1, begun + 1 + CALLS))
    executed = Counter(json.loads(line)["n"] for line in reached.read_text().splitlines())
    assert executed == Counter(range(CALLS))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["ordinal"] for line in lines] == list(range(CALLS))
    assert 0.2 < sum(line["noise"] != "clean" for line in lines) / CALLS < 0.45
