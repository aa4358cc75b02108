"""Chat models as agents and as users: everything between an OpenAI-compatible endpoint and one episode.

>>> import asyncio
>>> from functools import partial
>>> from bench2robust.agents.chat import ChatAgent, ChatSpec, Endpoint, LLMUser
>>> endpoint = Endpoint(ChatSpec("Qwen/Qwen3-4B", "http://localhost:8000/v1"))  # doctest: +SKIP
>>> agent, user = ChatAgent(endpoint), partial(LLMUser, endpoint)  # doctest: +SKIP
>>> asyncio.run(run_episode_async(benchmark, agent, user, job))  # doctest: +SKIP

`spec` says what is asked, `history` how the conversation is written, `reply` and `tags` how the answer is
read, `transport` how it travels, `failures` and `retry` what is done when it does not, `cassette` how it is
kept; `endpoint` puts these together, and `agent` and `user` talk through it.
"""

from .agent import ChatAgent, ChatSession
from .cassette import Cassette, TapeMode
from .endpoint import Endpoint, Gate
from .retry import Clock, Retry
from .spec import ChatSpec, Prices, TextTools
from .user import LLMUser

__all__ = [
    "Cassette",
    "ChatAgent",
    "ChatSession",
    "ChatSpec",
    "Clock",
    "Endpoint",
    "Gate",
    "LLMUser",
    "Prices",
    "Retry",
    "TapeMode",
    "TextTools",
]
