"""Prompts: the three usual tasks, as words that a person's client offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as types
from mcp.shared.exceptions import MCPError

MOST_CHARACTERS = 2_000  # of an argument


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualTask:
    name: str
    title: str
    about: str
    argument: str
    about_argument: str
    text: str  # with the argument in braces


TASKS = (
    UsualTask(
        name="set_up_an_agent",
        title="Set up an agent",
        about="From a wish to an agent that answers.",
        argument="wish",
        about_argument="What the agent is for.",
        text="Set up an agent for this: {}\n\nFind a persona with search_personas, tell me what it would cost with "
        "plan_agent, and wait for my yes. Then create_agent with waitSeconds 60. Ask me for a key of a model provider "
        "(get_catalog llm-providers), or send me to the agent's page to enter it. When talk_to_agent gets a reply, "
        "tell me the agent's address and when its trial ends (get_costs term).",
    ),
    UsualTask(
        name="repair_an_agent",
        title="Repair an agent",
        about="Find out why an agent is silent, and mend it.",
        argument="agentId",
        about_argument="The id of the agent (agt_…).",
        text="My agent {} does not do what it should. Look with explain_agent, then with read_logs and test_agent if "
        "that is not enough. Tell me the cause in a sentence. Do what mends it, but ask me before anything that is "
        "destructive or costs money. At the end show with talk_to_agent that it answers.",
    ),
    UsualTask(
        name="keep_an_agent",
        title="Keep an agent running",
        about="See what is paid, and pay on.",
        argument="agentId",
        about_argument="The id of the agent (agt_…).",
        text="Look with get_costs term until when my agent {} runs, and with get_catalog payment-providers how it can "
        "be paid. Quote a month and a year with get_costs quote and tell me both. When I have chosen, start_payment, "
        "tell me exactly what to pay and where, and check with get_costs term that it has arrived. At the end make a "
        "backup.",
    ),
)


def listed() -> list[types.Prompt]:
    return [
        types.Prompt(
            name=task.name,
            title=task.title,
            description=task.about,
            arguments=[types.PromptArgument(name=task.argument, description=task.about_argument, required=True)],
        )
        for task in TASKS
    ]


def told(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Raises MCPError for an unknown prompt, and without its argument."""
    task = next((task for task in TASKS if task.name == name), None)
    if task is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name[:100]}")
    given = arguments.get(task.argument, "")
    if not given or len(given) > MOST_CHARACTERS:
        raise MCPError(types.INVALID_PARAMS, f"{task.argument}: must have 1 to {MOST_CHARACTERS} characters")
    said = types.PromptMessage(role="user", content=types.TextContent(text=task.text.format(given)))
    return types.GetPromptResult(description=task.about, messages=[said])
