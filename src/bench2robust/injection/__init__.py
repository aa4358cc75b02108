"""The corrupted observation kernel: noise types, profiles, limits, scenarios, and the injector.

Standard library and `bench2robust.core` only.
"""

from .burst import Burst, Bursts
from .injector import Execute, ExecuteAsync, Injector
from .limits import Limits
from .profile import Distribution, NoiseProfile
from .scenario import Block, Eligibility, Mix, ScenarioSpec, assign
from .spec import Effects, InjectionSpec
from .texts import TEXTS_VERSION

__all__ = [
    "TEXTS_VERSION",
    "Block",
    "Burst",
    "Bursts",
    "Distribution",
    "Effects",
    "Eligibility",
    "Execute",
    "ExecuteAsync",
    "InjectionSpec",
    "Injector",
    "Limits",
    "Mix",
    "NoiseProfile",
    "ScenarioSpec",
    "assign",
]
