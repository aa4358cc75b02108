"""Outside the benchmarks: the injector and the memory around agents that people ship.

`scope` says where and until when tools fail, `wrapping` puts it around functions; each framework has a module
of its own that is imported only by who uses that framework.
"""

from .delivery import Delivery, Failure, Hang, Raised, Returned, ToolFailure
from .describing import Description, domain_of
from .hosting import Form, Tool
from .scope import Episode, Faults, current, faults
from .spec import FaultSpec
from .wrapping import inject

__all__ = [
    "Delivery",
    "Description",
    "Episode",
    "Failure",
    "FaultSpec",
    "Faults",
    "Form",
    "Hang",
    "Raised",
    "Returned",
    "Tool",
    "ToolFailure",
    "current",
    "domain_of",
    "faults",
    "inject",
]
