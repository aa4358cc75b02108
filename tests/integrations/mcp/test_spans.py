"""The proxy's spans: what `b2r profile fit` makes a profile of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_servers import B2R, ODD

from bench2robust.core.noise import NoiseType
from bench2robust.integrations.fitting import FitSpec, fit
from bench2robust.integrations.traces import read_traces


def test_the_circle_closes_through_the_proxy(talk: Any, tmp_path: Path) -> None:
    """200 calls at θ = .3, an interval of 1 - 10^-4: one false alarm in 10^4."""
    profile, spans = tmp_path / "own.toml", tmp_path / "spans.jsonl"
    profile.write_text("[default]\nrate_limit = 0.3\nclean = 0.7\n", encoding="utf-8")
    limits = ["--budget", "none", "--max-consecutive", "none"]
    client = talk([*B2R, "--profile", str(profile), *limits, "--spans", str(spans), "--", *ODD])
    client.begin()
    for n in range(200):
        client.call("count", n=n, key="s3cret")
    assert client.end()[0] == 0
    assert "s3cret" not in spans.read_text(encoding="utf-8")
    found = fit(read_traces(spans).calls, FitSpec(level=1 - 1e-4))
    (tool,) = found.tools
    assert (tool.tool, tool.calls) == ("count", 200)
    rate = tool.rates[NoiseType.RATE_LIMIT]
    assert rate.low <= 0.3 <= rate.high
