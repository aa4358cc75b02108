"""A proxy between any MCP client and any MCP server that makes tools fail in controlled ways."""

from .answers import Message
from .log import Log
from .recall import Library, Recall
from .session import OUTCOME, Move, Session
from .spec import Form, ProxySpec

__all__ = ["OUTCOME", "Form", "Library", "Log", "Message", "Move", "ProxySpec", "Recall", "Session"]
