"""How likely what an agent sees of a call is: the paper's corrupted observation kernel, read backwards.

A failure's text is weighed by every way to it: each noise type whose texts hold it, or a block, which
answers with one text of two of the types. An answer that is no failure is clean or silently corrupted;
which of the silent types could have landed on it is judged by the answer that was delivered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from math import fsum
from typing import Final, NamedTuple

from bench2robust.core.domain import Domain, FieldRules
from bench2robust.core.noise import NOISE_TYPES, OBSERVABLE, SILENT, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.reading import read
from bench2robust.core.tools import ToolKind, ToolResponse, ToolSpec
from bench2robust.injection import Distribution, Limits, NoiseProfile, texts
from bench2robust.injection.corruption import corrupt

from .beliefs import Beliefs

CLEAN_RATES: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""The clean probabilities that a profile nobody has told may have, each equally likely."""
_FIXED: Final = tuple(noise for noise in OBSERVABLE if noise is not NoiseType.MALFORMED)


class Failure(NamedTuple):
    """A failure that an agent saw, weighed."""

    text: str
    noise: float
    """Probability that a call which is not blocked draws a noise type with this text, limits apart."""
    block: float
    """Probability that a blocked tool answers with this text in an episode."""


class Answer(NamedTuple):
    """An answer that is no failure, weighed: the limits apart, it has drawn one of these two."""

    clean: float
    """Probability of a draw that delivers the tool's own answer."""
    silent: float
    """Probability of a silent corruption that lands."""


class ToolKernel:
    """The kernel of one tool.

    Args:
        theta: its noise profile.
        fields: the names that its *schema_drift* texts may hold.
        domain: which of its fields may be corrupted.
        tool: its name.
    """

    def __init__(self, theta: Distribution, fields: tuple[str, ...], domain: Domain, tool: str) -> None:
        self._theta = theta
        self._rules = domain.fields.get(tool)
        self._earlier = domain.earlier
        self._silent = tuple((noise, theta[noise]) for noise in SILENT if theta[noise] > 0)
        self.failing = fsum(theta[noise] for noise in OBSERVABLE)
        """Probability of drawing an explicit failure."""
        self.corrupting = fsum(p for _, p in self._silent) if self._rules is not None else 0.0
        """Probability of drawing a silent corruption, where the tool's answers have fields for it."""
        self._not_failing = 1.0 - self.failing
        weights = [theta[noise] for noise in texts.BLOCK_TYPES]
        if not any(weights):
            weights = [1.0] * len(weights)
        self._block_share = {
            noise: w / fsum(weights) for noise, w in zip(texts.BLOCK_TYPES, weights, strict=True)
        }
        noisy: defaultdict[str, float] = defaultdict(float)
        blocks: defaultdict[str, float] = defaultdict(float)
        for noise in _FIXED:
            variants = texts.variants(noise, fields)
            for text in variants:
                noisy[text] += theta[noise] / len(variants)
                blocks[text] += self._block_share.get(noise, 0.0) / len(variants)
        self._known = {text: Failure(text, p, blocks[text]) for text, p in noisy.items()}

    def weigh(self, response: ToolResponse) -> Failure | Answer:
        """Weigh what was delivered; texts that are not our own are weighed by the type they look like."""
        known = self._known.get(response.text) if response.error else None
        if known is not None:
            return known
        reading = read(response)
        if reading.noise is not None:
            share = self._block_share.get(reading.noise, 0.0)
            return Failure(response.text, self._theta[reading.noise], share)
        if response.error or self._rules is None:
            return Answer(self._not_failing, 0.0)
        landing = _landing(response.text, self._rules, tuple(self._earlier.items()))
        silent = fsum(p for noise, p in self._silent if noise in landing)
        return Answer(self._not_failing - silent, silent)


@lru_cache(maxsize=8192)  # the same records are read again and again
def _landing(
    text: str, rules: FieldRules, earlier: tuple[tuple[str, tuple[str, ...]], ...]
) -> frozenset[NoiseType]:
    """Return the silent types that could change an answer."""
    states = dict(earlier)
    return frozenset(
        noise for noise in SILENT if corrupt(noise, text, rules, states, Draws("landing")) is not None
    )


class Kernel:
    """The kernel of every tool of a domain under one profile.

    Args:
        profile: the noise profile.
        limits: how much of what is drawn is delivered.
        domain: exempt tools and corruptible fields.
    """

    def __init__(self, profile: NoiseProfile, limits: Limits, domain: Domain) -> None:
        self.profile, self.limits, self._domain = profile, limits, domain
        self._tools: dict[str, ToolKernel | None] = {}

    def of(self, tool: ToolSpec) -> ToolKernel | None:
        """Return a tool's kernel; None for one that is exempt, and so never fails by injection."""
        if tool.name not in self._tools:
            exempt = tool.name in self._domain.exempt or tool.kind is ToolKind.ESCALATION
            fields = texts.field_names(tool, self._domain.fields.get(tool.name))
            self._tools[tool.name] = (
                None
                if exempt
                else ToolKernel(self.profile.for_tool(tool.name), fields, self._domain, tool.name)
            )
        return self._tools[tool.name]


def learned(beliefs: Beliefs | None, domain: Domain) -> tuple[Kernel, ...]:
    """Return kernels for a profile that nobody has told, one for each of `CLEAN_RATES`.

    Beliefs say in how many episodes a tool met an error, not in how many calls, so they tell the shares of
    the nine types (one episode of each is added, and each tool leans on all tools together with the weight of
    nine episodes), and the rate is left to what the episode itself shows. Of the limits nothing is assumed.
    """
    counts: defaultdict[str, defaultdict[NoiseType, float]] = defaultdict(lambda: defaultdict(float))
    for (tool, noise), belief in beliefs.errors.items() if beliefs else ():
        counts[tool][noise] += belief.episodes
    ones = dict.fromkeys(NOISE_TYPES, 1.0)
    overall = _shares({noise: fsum(c[noise] for c in counts.values()) for noise in NOISE_TYPES}, ones)
    lean = {noise: len(NOISE_TYPES) * share for noise, share in overall.items()}
    shares = {tool: _shares(count, lean) for tool, count in counts.items()}
    return tuple(
        Kernel(
            NoiseProfile(_at(clean, overall), {tool: _at(clean, share) for tool, share in shares.items()}),
            Limits.unlimited(),
            domain,
        )
        for clean in CLEAN_RATES
    )


def _shares(counts: Mapping[NoiseType, float], prior: Mapping[NoiseType, float]) -> dict[NoiseType, float]:
    total = fsum(counts.get(noise, 0.0) + p for noise, p in prior.items())
    return {noise: (counts.get(noise, 0.0) + p) / total for noise, p in prior.items()}


def _at(clean: float, shares: Mapping[NoiseType, float]) -> dict[NoiseType, float]:
    return {NoiseType.CLEAN: clean, **{noise: (1.0 - clean) * share for noise, share in shares.items()}}
