"""Write tool calls as OpenTelemetry spans, and fit a noise profile to them.

Run it: ``python examples/fit_profile.py``. In production the spans come from your own tracing.
"""

import tempfile
from pathlib import Path

from bench2robust import faults, inject
from bench2robust.integrations.fitting import FitSpec, fit, to_toml
from bench2robust.integrations.spans import SpanFile
from bench2robust.integrations.traces import read_traces


@inject
def get_order(order_id: str) -> dict:
    """Get an order by its id."""
    return {"order_id": order_id, "total": 47.84}


# Stands for production: a tool that is down for about six calls on end, on 20 % of calls.
world = {"default": {"timeout": 0.15, "rate_limit": 0.05, "clean": 0.8}, "burst": {"length": 6}}

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "traces.jsonl"
    with SpanFile(file) as spans, faults(world, budget=None, max_consecutive=None, on_record=spans):
        for n in range(2000):
            get_order(f"#W{n}")
    found = fit(read_traces(file).calls, FitSpec())

print(to_toml(found, file.name))
tool = found.tools[0]
print("in bursts:", tool.together.bursts, f"of about {tool.together.calls:.0f} calls")

# What was fitted is a profile like any other.
with faults(found.profile(), seed=1, budget=None, max_consecutive=None) as scope:
    for n in range(40):
        get_order(f"#W{n}")
print("".join("x" if record.landed else "." for record in scope.records))
