"""The driver for n8n: a turn is one call of the agent's chat trigger, whose answer is a stream of pieces.
Seen in real runs: an `error` of any node may be among the pieces, also of a tool whose failure the model sees and
handles. The stream ends without a sign of success or failure. So n8n_parts/agent.cjs adds a verdict at the end, and
ends the execution if the caller disconnects.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import aiohttp

from agents.engines.base import EngineError, ModelError
from agents.engines.http_turns import CallDriver, Json
from agents.engines.lines import lines
from agents.engines.n8n_workflow import AGENT, AGENT_ID, MODEL

HEADER = "X-Agentpods-Password"
CHECK_PATH = "/agentpods/agent"
CHAT_PATH = f"/webhook/{AGENT_ID}/chat"
# When a changed workflow replaces the old one, there is no workflow for a moment, so a call is tried again.
TRIES = 5
WAIT_SECONDS = 0.3
_BETWEEN_TEXTS = "\n\n"


class N8nDriver(CallDriver):
    abort_seconds = 1.0

    def __init__(self, process: asyncio.subprocess.Process, *, port: int, password: str) -> None:
        base = f"http://127.0.0.1:{port}"
        super().__init__(process, base_url=base, health="/healthz/readiness", headers={HEADER: password})

    async def settle(self) -> None:
        """Wait until n8n is healthy, then check that it has loaded the agent's workflow, which comes later. Raises
        EngineError.
        """
        await super().settle()
        async with self._session.get(CHECK_PATH) as answer:
            said = await answer.json(content_type=None)
            if answer.status != 200 or not said.get("agent"):
                raise EngineError(str(said.get("error") or "n8n did not take the agent's workflow"))

    async def texts(self, session: str, message: str) -> AsyncGenerator[str, None]:
        """The model may write, use a tool and write again; between the texts an empty line is added."""
        text, between, verdict = "", "", None
        async with aclosing(self._pieces(session, message)) as pieces:
            async for piece in pieces:
                match piece.get("type"):
                    case "begin":
                        between = _BETWEEN_TEXTS if text else ""
                    case "item" if piece.get("content"):
                        added = between + str(piece["content"])
                        between = ""
                        text += added
                        yield added
                    case "verdict":
                        verdict = piece
        _judge(verdict, text)

    async def _pieces(self, session: str, message: str) -> AsyncGenerator[Json, None]:
        body = {"action": "sendMessage", "sessionId": session, "chatInput": message}
        for left in reversed(range(TRIES)):
            async with self._session.post(CHAT_PATH, json=body) as answer:
                if answer.status == 404 and left:
                    await asyncio.sleep(WAIT_SECONDS)
                    continue
                if answer.status != 200:
                    raise await _refusal(answer)
                async for line in lines(answer.content.iter_any()):
                    yield json.loads(line)
                return

    def _says_healthy(self, body: bytes) -> bool:
        return body == b'{"status":"ok"}'


def _judge(verdict: Json | None, text: str) -> None:
    if verdict is None:
        raise EngineError("the engine broke off in the middle of the turn")
    if error := verdict.get("error"):
        said = str(error.get("message") or "the turn failed")
        raise ModelError(said) if error.get("node") in {AGENT, MODEL} else EngineError(said)
    if verdict.get("status") != "success":
        raise EngineError(f"the turn ended as {verdict.get('status')!r}")
    if not text.strip():
        raise ModelError("the model ended the turn without a word")


async def _refusal(answer: aiohttp.ClientResponse) -> EngineError:
    try:
        said = await answer.json(content_type=None)
        text = said.get("error") or said.get("message")
    except (ValueError, AttributeError):
        text = None
    return EngineError(str(text or f"the engine answered {answer.status}"))
