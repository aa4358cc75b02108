"""From traces to a noise profile: how often each tool fails in which way, how sure that is, and in bursts or not.

Rates are estimated from first attempts where failures are independent: a retry is made only where something
failed, and in an outage it fails again, so counting retries would overstate θ. Where failures come in bursts that
are counted in calls, retries are calls of the burst like any other, and every call counts; the interval is then
that of as many independent calls as the dependent ones are worth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from bench2robust.core.errors import SpecError, UnknownNameError
from bench2robust.core.noise import OBSERVABLE, NoiseType
from bench2robust.injection import Burst, Bursts, NoiseProfile

from . import exact
from .traces import Call

LEAVE: Final = "leave"
_DIGITS: Final = 6
_LEAST_FAILURES: Final = 10
_LEAST_CALLS: Final = 30


@dataclass(frozen=True, slots=True)
class FitSpec:
    """How a profile is fitted.

    Raises:
        SpecError: a value that cannot be.
    """

    level: float = 0.95
    """Of the intervals."""
    test_level: float = 0.01
    """How often bursts may be found in any tool of a file in which there are none (Bonferroni over tools)."""
    least: int = 20
    """Calls below which a tool gets no distribution of its own."""
    unknown: str = str(NoiseType.SERVER_ERROR)
    """What an error counts as of which nothing says what it is: a noise type, or ``leave`` for no failure."""

    def __post_init__(self) -> None:
        exact.checked(self.level)
        exact.checked(self.test_level)
        if isinstance(self.least, bool) or not isinstance(self.least, int) or self.least < 1:
            raise SpecError(f"expected an integer of at least 1, got least={self.least!r}")
        if self.unknown not in (*OBSERVABLE, LEAVE):
            raise SpecError(str(UnknownNameError("unknown", str(self.unknown), (*OBSERVABLE, LEAVE))))


@dataclass(frozen=True, slots=True)
class Rate:
    """A probability, and how sure it is."""

    hits: int
    n: int
    low: float
    high: float

    @property
    def mean(self) -> float:
        """The share."""
        return self.hits / self.n if self.n else 0.0

    @classmethod
    def of(cls, hits: int, n: int, level: float, worth: float = 1.0) -> Rate:
        """Return a share with its exact interval; `worth` is the share of `n` that counts as independent."""
        return cls(hits, n, *exact.interval(hits * worth, n * worth, level))


@dataclass(frozen=True, slots=True)
class Together:
    """Whether a tool's failures lie together."""

    p: float | None
    """The exact probability of so few runs of failures, were they independent; None where there is too
    little to say."""
    bursts: bool
    length: Rate | None = None
    """Probability that a failed call is followed by another, where there are bursts."""

    @property
    def calls(self) -> float:
        """Calls of a burst on average; 1 where there are none."""
        return 1.0 if self.length is None else 1.0 / max(1.0 - self.length.mean, 1.0 / self.length.n)


@dataclass(frozen=True, slots=True)
class ToolFit:
    """What the traces say of one tool."""

    tool: str
    calls: int
    first: Rate
    """Failures among first attempts."""
    retries: Rate
    """Failures among retries."""
    rates: Mapping[NoiseType, Rate]
    """What goes into the profile: of first attempts, or of all calls where there are bursts."""
    worth: float
    """How many independent calls one of these is worth; 1 where there are no bursts."""
    together: Together
    kept: bool
    """Whether it is enough for a distribution of its own."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What a file of traces says."""

    spec: FitSpec
    tools: tuple[ToolFit, ...]
    pooled: Mapping[NoiseType, Rate]
    """Of all tools together: for tools that have no distribution of their own."""
    unknown: Mapping[str, int]
    """Errors of which nothing says what they are, by what the traces call them."""

    def profile(self) -> NoiseProfile:
        """Return the profile; silent errors cannot be seen in traces and have probability 0."""
        kept = [fit for fit in self.tools if fit.kept]
        bursts = {
            fit.tool: Burst(max(round(fit.together.calls, 3), _shortest(distribution(fit.rates))))
            for fit in kept
            if fit.together.bursts and distribution(fit.rates)[NoiseType.CLEAN] > 0
        }
        return NoiseProfile(
            distribution(self.pooled),
            {fit.tool: distribution(fit.rates) for fit in kept},
            Bursts(None, tuple(sorted(bursts.items()))),
        )


def distribution(rates: Mapping[NoiseType, Rate]) -> dict[NoiseType, float]:
    """Return rates as a distribution that sums to 1 exactly as it is written."""
    noisy = {noise: round(rate.mean, _DIGITS) for noise, rate in rates.items() if rate.hits}
    clean = round(1.0 - math.fsum(noisy.values()), _DIGITS)
    if clean < 0.0:  # rounding made more than all of it
        most = max(noisy, key=lambda noise: noisy[noise])
        noisy[most], clean = round(noisy[most] + clean, _DIGITS), 0.0
    return {**noisy, NoiseType.CLEAN: clean}


def _shortest(theta: Mapping[NoiseType, float]) -> float:
    """Return the least length that bursts with so many failures can have, rounded up."""
    clean = theta[NoiseType.CLEAN]
    return max(1.0, math.ceil(1000 * (1 - clean) / clean) / 1000)


def fit(calls: Sequence[Call], spec: FitSpec) -> Fit:
    """Fit a profile to calls in the order of time.

    Raises:
        SpecError: there are no calls.
    """
    if not calls:
        raise SpecError("expected calls to fit a profile to, got none")
    by_tool: dict[str, list[Call]] = {}
    for call in calls:
        by_tool.setdefault(call.tool, []).append(call)
    unknown = Counter(call.error for call in calls if call.failed and call.noise is None)
    tools = tuple(_tool_fit(tool, by_tool[tool], spec, len(by_tool)) for tool in sorted(by_tool))
    return Fit(spec, tools, _pooled(tools, spec.level), dict(unknown.most_common()))


def _pooled(tools: Sequence[ToolFit], level: float) -> dict[NoiseType, Rate]:
    """Return the rates of all tools together, each tool's counted as for itself."""
    pooled = {}
    for noise in OBSERVABLE:
        own = [(one.rates[noise], one.worth) for one in tools]
        n = sum(rate.n for rate, _ in own)
        worth = sum(rate.n * worth for rate, worth in own) / n
        pooled[noise] = Rate.of(sum(rate.hits for rate, _ in own), n, level, worth)
    return pooled


def _tool_fit(tool: str, calls: list[Call], spec: FitSpec, tools: int) -> ToolFit:
    failed = [_noise(call, spec) is not None for call in calls]
    together = _together(failed, spec.test_level / tools, spec.level)
    first = [call for call in calls if not call.retry]
    again = [call for call in calls if call.retry]

    def rate(some: list[Call]) -> Rate:
        return Rate.of(sum(_noise(call, spec) is not None for call in some), len(some), spec.level)

    counted = calls if together.bursts else first
    worth = _worth(failed) if together.bursts else 1.0
    rates = _rates(counted, spec, worth)
    kept = len(counted) >= spec.least
    return ToolFit(tool, len(calls), rate(first), rate(again), rates, worth, together, kept)


def _noise(call: Call, spec: FitSpec) -> NoiseType | None:
    """Return what a call counts as; None for one that did not fail."""
    if not call.failed:
        return None
    if call.noise is not None:
        return call.noise if call.noise.observable else None
    return None if spec.unknown == LEAVE else NoiseType(spec.unknown)


def _rates(calls: Sequence[Call], spec: FitSpec, worth: float) -> dict[NoiseType, Rate]:
    counts = Counter(_noise(call, spec) for call in calls)
    return {noise: Rate.of(counts[noise], len(calls), spec.level, worth) for noise in OBSERVABLE}


def _together(failed: Sequence[bool], test_level: float, level: float) -> Together:
    bad, n = sum(failed), len(failed)
    if bad < _LEAST_FAILURES or n < _LEAST_CALLS or bad == n:
        return Together(None, bursts=False)
    p = few_runs(failed)
    if p >= test_level:
        return Together(p, bursts=False)
    after = [then for one, then in pairwise(failed) if one]
    return Together(p, bursts=True, length=Rate.of(sum(after), len(after), level))


def few_runs(failed: Sequence[bool]) -> float:
    """Return how likely so few runs of failures are, were every order of them equally likely.

    The exact one-sided runs test (Wald and Wolfowitz 1940): with `bad` failures among n calls, the number of runs of
    failures is r in C(bad - 1, r - 1) C(n - bad + 1, r) of C(n, bad) orders.
    """
    bad, good = sum(failed), len(failed) - sum(failed)
    runs = sum(one and not before for before, one in pairwise((False, *failed)))
    whole = _log_choose(bad + good, bad)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_choose(bad - 1, r - 1) + _log_choose(good + 1, r) - whole)
            for r in range(1, min(runs, good + 1) + 1)
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _worth(failed: Sequence[bool]) -> float:
    """Return how many independent calls a dependent one is worth, from the correlation of neighbours."""
    pairs = Counter(pairwise(failed))
    after_bad = pairs[True, True] / max(1, pairs[True, True] + pairs[True, False])
    after_good = pairs[False, True] / max(1, pairs[False, True] + pairs[False, False])
    correlation = min(max(after_bad - after_good, 0.0), 0.999)
    return (1.0 - correlation) / (1.0 + correlation)


def to_toml(found: Fit, source: str) -> str:
    """Return the profile of a fit as a TOML file, with every interval beside its rate.

    Args:
        found: the fit.
        source: what it was fitted to, for the first line.
    """
    profile = found.profile()
    calls = sum(one.calls for one in found.tools)
    lines = [
        f"# Fitted by b2r profile fit to {source}: calls {calls:,}, tools {len(found.tools)}.",
        f"# Beside each rate: its {found.spec.level:.0%} interval, and how often of how many calls.",
        "# Silent errors cannot be seen in traces: partial, stale and factual_error are 0 here.",
        "",
        "[default]   # all tools together, for those that are not below",
        *_table(profile.default, found.pooled),
    ]
    for one in found.tools:
        if one.kept:
            lines += ["", f"[tools.{_key(one.tool)}]", *_table(profile.tools[one.tool], one.rates)]
    for tool, burst in profile.bursts.tools:
        together = next(one.together for one in found.tools if one.tool == tool)
        lines += ["", f"[burst.tools.{_key(tool)}]   # {_bursts(together)}", f"length = {burst.length!r}"]
    return "\n".join(lines) + "\n"


def _table(theta: Mapping[NoiseType, float], rates: Mapping[NoiseType, Rate]) -> list[str]:
    lines = [
        f"{noise} = {theta[noise]!r}   # {rate.low:.4f} to {rate.high:.4f}, {rate.hits:,} of {rate.n:,}"
        for noise, rate in rates.items()
        if rate.hits
    ]
    return [*lines, f"clean = {theta[NoiseType.CLEAN]!r}"]


def _bursts(together: Together) -> str:
    rate = together.length
    assert rate is not None
    return f"a failure is followed by another {rate.mean:.2f} of times ({rate.low:.2f} to {rate.high:.2f})"


def _key(name: str) -> str:
    import json

    bare = name and all(c.isascii() and (c.isalnum() or c in "_-") for c in name)
    return name if bare else json.dumps(name)


def to_dict(found: Fit) -> dict[str, Any]:
    """Return a fit as JSON values."""

    def rate(one: Rate) -> dict[str, float]:
        return {"mean": one.mean, "low": one.low, "high": one.high, "hits": one.hits, "n": one.n}

    return {
        "level": found.spec.level,
        "test_level": found.spec.test_level,
        "unknown": dict(found.unknown),
        "default": {str(noise): rate(one) for noise, one in found.pooled.items()},
        "tools": {
            one.tool: {
                "calls": one.calls,
                "first_attempts": rate(one.first),
                "retries": rate(one.retries),
                "rates": {str(noise): rate(each) for noise, each in one.rates.items()},
                "kept": one.kept,
                "runs_test_p": one.together.p,
                "bursts": one.together.bursts,
                "burst_length": one.together.calls if one.together.bursts else None,
            }
            for one in found.tools
        },
        "profile": found.profile().to_dict(),
    }
