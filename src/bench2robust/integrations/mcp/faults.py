"""The injector of one MCP session: it finds places to corrupt by itself and keeps a tool's output schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bench2robust.core.domain import FieldRules
from bench2robust.core.noise import NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolResponse
from bench2robust.injection import Injector
from bench2robust.injection.corruption import corrupt
from bench2robust.integrations import values

from .answers import Result, corrupted, finite

_TRIALS: Final = 3
"""Corruptions that have to fit before a place counts as one where they do."""
_MOST_PLACES: Final = 60
"""Patterns of one response that are tried."""


class Schemas:
    """The output schemas of a server's tools, as far as they were seen to pass by."""

    def __init__(self) -> None:
        self._schemas: dict[str, Any] = {}
        self._validators: dict[str, Any] = {}

    def __contains__(self, tool: str) -> bool:
        return tool in self._schemas

    def put(self, tool: str, schema: Any) -> None:
        """Remember the schema of a tool, None for one that has none."""
        if self._schemas.get(tool) != schema:
            self._validators.pop(tool, None)
        self._schemas[tool] = schema

    def fits(self, tool: str, value: Any) -> bool:
        """Whether a structured value is what the tool's schema promises."""
        schema = self._schemas.get(tool)
        if schema is None:
            return True
        try:
            if tool not in self._validators:
                from jsonschema.validators import validator_for  # type: ignore[import-untyped,unused-ignore]

                self._validators[tool] = validator_for(schema)(schema)
            return bool(self._validators[tool].is_valid(value))
        except Exception:  # a schema that is none, or one that is elsewhere
            return False


class McpInjector(Injector):
    """An injector whose silent corruptions a client that checks results lets through."""

    def __init__(self, *args: Any, schemas: Schemas, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._schemas = schemas

    def _rules(self, name: str, true: ToolResponse) -> FieldRules | None:
        if not isinstance(true, Result):
            return None
        if "structuredContent" in true.result and name not in self._schemas:
            return None  # whoever has not listed the tools yet may do so before it looks at the result
        rules = super()._rules(name, true) or values.rules(true.text)
        if rules is None:
            return None
        earlier = self._domain.earlier
        return FieldRules(
            critical=tuple(self._landing(name, true, NoiseType.PARTIAL, rules.critical, earlier)),
            state=tuple(self._landing(name, true, NoiseType.STALE, rules.state, earlier)),
            numeric=tuple(self._landing(name, true, NoiseType.FACTUAL, rules.numeric, earlier)),
        )

    def _landing(
        self, name: str, true: Result, noise: NoiseType, patterns: tuple[str, ...], earlier: Mapping[str, Any]
    ) -> Iterator[str]:
        """Give the patterns whose corruption alone fits, in some trials."""
        kind = {NoiseType.PARTIAL: "critical", NoiseType.STALE: "state", NoiseType.FACTUAL: "numeric"}[noise]
        for pattern in patterns[:_MOST_PLACES]:
            only = FieldRules(**{kind: (pattern,)})
            for trial in range(_TRIALS):
                done = corrupt(noise, true.text, only, earlier, Draws("fits", pattern, trial))
                if done is None or not self._fits(name, true, done[0]):
                    break
            else:
                yield pattern

    def _fits(self, name: str, true: ToolResponse, text: str) -> bool:
        if not isinstance(true, Result):
            return False
        result = corrupted(true, text)
        if result is None:
            return False
        structured = result.get("structuredContent")
        return structured is None or (finite(structured) and self._schemas.fits(name, structured))
