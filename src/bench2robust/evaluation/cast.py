"""Who plays in a run's episodes that wait: one endpoint for each model, one gate for each address."""

from __future__ import annotations

from functools import partial

from bench2robust import agents
from bench2robust.agents.chat.agent import ChatAgent
from bench2robust.agents.chat.cassette import Cassette
from bench2robust.agents.chat.endpoint import Endpoint
from bench2robust.agents.chat.spec import ChatSpec
from bench2robust.agents.chat.user import LLMUser
from bench2robust.core.ports import AwaitingAgent, NewUser

from .models import Models, is_chat
from .throttle import Throttle

_USERS: dict[str, NewUser] = {"scripted": agents.scripted, "ticket": agents.ticket}


class Cast:
    """The agents and the user of one event loop.

    Args:
        models: the models, and how to ask them.
        most: the limit of requests on their way to one address.
        cassette: records or replays what all models answer; None for neither.
    """

    def __init__(self, models: Models, most: int, cassette: Cassette | None = None) -> None:
        self.most = most
        self._models, self._cassette = models, cassette
        self._gates: dict[str, Throttle] = {}
        self._agents: dict[str, AwaitingAgent] = {}
        self._endpoints: list[Endpoint] = []
        self._user: NewUser | None = None

    @property
    def retries(self) -> int:
        """Requests that failed and were made again."""
        return sum(endpoint.retries for endpoint in self._endpoints)

    @property
    def limit(self) -> int:
        """How many requests may be on their way now, to all addresses together."""
        return sum(int(gate.limit) for gate in self._gates.values()) or self.most

    def agent(self, name: str) -> AwaitingAgent:
        """Return the agent of that name, the same one every time.

        Raises:
            NotInstalledError: what its model needs is not installed.
        """
        if name not in self._agents:
            self._agents[name] = ChatAgent(self._connect(self._models.of(name)))
        return self._agents[name]

    def user(self) -> NewUser:
        """Return who makes the users.

        Raises:
            NotInstalledError: what its model needs is not installed.
        """
        if self._user is None:
            who = self._models.user
            self._user = (
                partial(LLMUser, self._connect(self._models.of_user())) if is_chat(who) else _USERS[who]
            )
        return self._user

    async def close(self) -> None:
        """Close every connection."""
        for endpoint in self._endpoints:
            await endpoint.close()
        if self._cassette is not None:
            self._cassette.close()

    def _connect(self, spec: ChatSpec) -> Endpoint:
        gate = self._gates.setdefault(spec.base_url, Throttle(self.most))
        endpoint = Endpoint(spec, cassette=self._cassette, gate=gate)
        self._endpoints.append(endpoint)
        return endpoint
