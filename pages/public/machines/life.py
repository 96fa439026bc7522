"""The whole life of an agent as calls. `/llms.txt` shows them, and a test lives by them.

A step names an operation of `/openapi.json`, so method and path cannot differ from the interface.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeStep:
    """A call. Words in braces are placeholders: the caller knows them, or an earlier answer had them (`keep`)."""

    operation: str
    about: str
    query: str = ""
    prefer: str = ""
    body: Mapping[str, Any] | None = None
    keep: Mapping[str, str] = field(default_factory=dict)  # a placeholder, and where the answer has its value


_NEW = {"personaId": "{personaId}", "tier": "{tier}"}

LIFE = (
    LifeStep(
        operation="listPersonas",
        query="limit=5",
        keep={"personaId": "personas[0].id", "tier": "personas[0].tier"},
        about="Choose a persona. `q=` searches. Its `tier` is the smallest plan that suits it.",
    ),
    LifeStep(operation="listTiers", about="What each plan costs, and how long the free trial is."),
    LifeStep(
        operation="createAgent",
        body=_NEW,
        prefer="wait=60",
        keep={"id": "agent.id", "status": "agent.status"},
        about="The agent begins its free trial. The answer comes when it is `running` or `failed`, after a minute at "
        "the latest; if it is `provisioning` then, wait with `GET /agents/{id}` and the same header.",
    ),
    LifeStep(
        operation="updateAgentLlmKey",
        body={"provider": "{llmProvider}", "key": "{llmKey}"},
        about="A key of yours at a model provider (`GET /llm-providers`). Without one the agent says nothing.",
    ),
    LifeStep(
        operation="chatWithAgent",
        body={"message": "Hello, who are you?"},
        keep={"sessionId": "sessionId"},
        about="Talk. Send `sessionId` again to go on with the conversation.",
    ),
    LifeStep(operation="explainAgent", about="If it does not answer: the reason, and in `next` the call that helps."),
    LifeStep(
        operation="listAgentEvents",
        about="What happened to the agent. Call it again with `?after=` and the last id that you have.",
    ),
    LifeStep(
        operation="getSubscriptionQuote",
        query="agentId={id}&period=monthly&provider=usdt",
        about="What a month would cost. It buys nothing.",
    ),
    LifeStep(
        operation="createCryptoOrder",
        body={"agentId": "{id}", "asset": "usdt", "period": "monthly"},
        keep={"orderId": "order.id"},
        about="Pay: send `payment.amount` of the token to `payment.address`. `GET /payment-providers` names the other "
        "ways. An agent that is never paid is stopped after its trial, and deleted later.",
    ),
    LifeStep(operation="deleteAgent", about="Delete the agent with all its data, for good."),
)


def written(step: LifeStep, number: int, calls: Mapping[str, tuple[str, str]]) -> str:
    """The step as lines of Markdown. `calls` has the method and path of each operation."""
    method, path = calls[step.operation]
    query = f"?{step.query}" if step.query else ""
    prefer = f" with `Prefer: {step.prefer}`" if step.prefer else ""
    lines = [f"{number}. `{method} {path}{query}`{prefer}"]
    if step.body is not None:
        lines.append(f"   Send: `{json.dumps(step.body)}`")
    lines += [f"   Keep: `{name} = {place}`" for name, place in step.keep.items()]
    return "\n".join([*lines, f"   {step.about}"])
