"""What models are told, word for word."""

from __future__ import annotations

from bench2robust import domains
from bench2robust.agents.chat.prompts import agent_prompt, user_prompt
from bench2robust.memory.block import block
from bench2robust.memory.memory import Memory


def test_the_agents(golden):
    golden("chat_agent.txt", agent_prompt("# Policy\n\nBe kind.\n", ends=False))
    golden("chat_agent_ends.txt", agent_prompt("# Policy\n\nBe kind.\n", ends=True))


def test_an_agent_with_a_tool_memory(golden):
    domain = domains.load("helpdesk")
    told = block(Memory("helpdesk"), domain, ["find_user_by_badge", "find_user_by_login"])
    golden("chat_agent_memory.txt", agent_prompt("# Policy\n\nBe kind.\n", told, ends=False))


def test_the_users(golden):
    golden("chat_user.txt", user_prompt("You want your lamp back.\n", tools=False))
    golden("chat_user_tools.txt", user_prompt("You want your phone to work.", tools=True))


def test_braces_in_a_policy_stay():
    assert "{x}" in agent_prompt("{x}", ends=True)
    assert "{x}" in user_prompt("{x}", tools=False)
