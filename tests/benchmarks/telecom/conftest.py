"""τ² telecom's own code as the oracle: a fresh upstream environment, its responses, its evaluators."""

from __future__ import annotations

import pytest

from bench2robust.core.tools import ToolResponse


@pytest.fixture(scope="session")
def bench():
    from bench2robust.benchmarks.tau2.telecom import telecom

    return telecom()


class Upstream:
    """τ²-bench telecom as τ² runs it."""

    def __init__(self):
        from tau2.data_model import message, tasks
        from tau2.domains.telecom import environment, user_data_model, user_tools
        from tau2.evaluator.evaluator_action import ActionEvaluator
        from tau2.evaluator.evaluator_env import EnvironmentEvaluator

        self.message, self.tasks = message, tasks
        self.constructor = environment.get_environment
        self.user_tools, self.models = user_tools.TelecomUserTools, user_data_model
        self.world, self.actions = EnvironmentEvaluator, ActionEvaluator

    def construct(self, solo_mode=False):
        """A new environment. τ²'s shared default VPN, which its break_vpn spoils for good, is made good first."""
        self.user_tools.default_vpn_details = self.models.VpnDetails(
            server_address="192.168.1.1",
            protocol="OpenVPN",
            server_performance=self.models.PerformanceLevel.EXCELLENT,
        )
        return self.constructor(solo_mode=solo_mode)

    def task(self, task):
        return self.tasks.Task.model_validate(task.data)

    def open(self, task):
        environment, state = self.construct(), self.task(task).initial_state
        environment.set_state(state.initialization_data, state.initialization_actions, [])
        return environment

    def respond(self, environment, call, by_user=False):
        asked = self.message.ToolCall(
            id="1",
            name=call.name,
            arguments=dict(call.arguments),
            requestor="user" if by_user else "assistant",
        )
        answer = environment.get_response(asked)
        return ToolResponse(answer.content, answer.error)

    def verdict(self, task, exchanges):
        """τ²'s reward for a recorded episode of (call, by_user, response text): world × actions by its basis."""
        messages = []
        for number, (call, by_user, text) in enumerate(exchanges):
            who = "user" if by_user else "assistant"
            asked = self.message.ToolCall(
                id=str(number), name=call.name, arguments=dict(call.arguments), requestor=who
            )
            speaker = self.message.UserMessage if by_user else self.message.AssistantMessage
            messages.append(speaker(role=who, tool_calls=[asked]))
            messages.append(
                self.message.ToolMessage(role="tool", id=str(number), content=text, requestor=who)
            )
        theirs = self.task(task)
        parts = {
            "assertions": self.world.calculate_reward(self.construct, theirs, messages).reward == 1.0,
            "actions": self.actions.calculate_reward(theirs, messages).reward == 1.0,
        }
        basis = {kind.value for kind in theirs.evaluation_criteria.reward_basis}
        return {
            name: parts[name]
            for name, kind in (("assertions", "ENV_ASSERTION"), ("actions", "ACTION"))
            if kind in basis
        }


@pytest.fixture(scope="session")
def upstream():
    return Upstream()
