"""What an injector is told: profile, limits, and what a fault does to the call itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from bench2robust.core.errors import SpecError, UnknownNameError

from .limits import Limits
from .profile import NoiseProfile


class Effects(StrEnum):
    """Whether a fault can keep the call from happening."""

    OBSERVATION = "observation"
    """The call executes, then its response is corrupted (the paper's observation kernel, Eq. 1)."""
    REQUEST = "request"
    """rate_limit, auth_error and schema_drift reject the call before it executes."""


@dataclass(frozen=True, slots=True)
class InjectionSpec:
    """Everything that decides what an injector does, seed and task apart."""

    profile: NoiseProfile = field(default_factory=NoiseProfile.severe)
    limits: Limits = field(default_factory=Limits)
    effects: Effects = Effects.OBSERVATION

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that are equal for equal specs, in any process."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return blake2b(text.encode(), digest_size=8).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as JSON values."""
        return {
            "profile": self.profile.to_dict(),
            "limits": self.limits.to_dict(),
            "effects": str(self.effects),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InjectionSpec:
        """Read what `to_dict` wrote; a missing key keeps its default.

        Raises:
            SpecError: an unknown key, or a value that cannot be.
        """
        known = ("profile", "limits", "effects")
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise SpecError(f"unknown key in injection={unknown[0]!r}; known: {', '.join(known)}")
        effects = data.get("effects", Effects.OBSERVATION)
        if effects not in list(Effects):
            raise SpecError(str(UnknownNameError("effects", str(effects), list(Effects))))
        return cls(
            profile=NoiseProfile.from_dict(data["profile"]) if "profile" in data else NoiseProfile.severe(),
            limits=Limits.from_dict(data.get("limits", {})),
            effects=Effects(effects),
        )
