"""Reference policies behind an OpenAI-compatible endpoint, to try everything that real models need without one."""

from .endpoint import Endpoint, EndpointSpec, ToolUse
from .faults import Fault, FaultSpec

__all__ = ["Endpoint", "EndpointSpec", "Fault", "FaultSpec", "ToolUse"]
