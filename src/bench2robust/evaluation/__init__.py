"""Many episodes: what to run, running it, keeping it, and what it shows.

>>> from bench2robust.evaluation import RunSpec, run
>>> spec = RunSpec("tau2-retail", agents=("naive", "strategic"), seeds=(0, 1, 2))
>>> for row in run(spec, "runs/first").rows:  # doctest: +SKIP
...     print(row.agent, row.mode, row.pass_rate.mean)
"""

from .books import Status, Watch
from .budget import Budget
from .certificate import certify, certify_task
from .episode import Job, run_episode, run_episode_async
from .estimate import Estimate, sample
from .lines import Episode, Result
from .models import Models
from .registry import load, names
from .runner import Means, Run, forecast, load_run, run
from .schedule import Schedule
from .spec import RunSpec
from .summary import Rate, Row, ScenarioCount, summarise

__all__ = [
    "Budget",
    "Episode",
    "Estimate",
    "Job",
    "Means",
    "Models",
    "Rate",
    "Result",
    "Row",
    "Run",
    "RunSpec",
    "ScenarioCount",
    "Schedule",
    "Status",
    "Watch",
    "certify",
    "certify_task",
    "forecast",
    "load",
    "load_run",
    "names",
    "run",
    "run_episode",
    "run_episode_async",
    "sample",
    "summarise",
]
