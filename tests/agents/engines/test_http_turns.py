"""Engines whose turn is one HTTP call: the reply arrives in pieces, and an aborted turn delays the next one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agents.engines.base import EngineError, ModelError
from agents.engines.hermes_http import HermesDriver
from agents.engines.http_turns import CallDriver
from agents.engines.n8n_http import CHAT_PATH, N8nDriver
from agents.engines.openclaw_http import PLUGIN_ID, SETTINGS, OpenclawDriver

TURN_PATH = "/v1/chat/completions"


def chunk(text: str = "", **more: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}, **more}]}).encode() + b"\n\n"


END = chunk(finish_reason="stop") + b"data: [DONE]\n\n"


class ScriptedEngine:
    """Answers each turn with the next of `answers`: what it sends in pieces of `size` bytes. It then ends the answer,
    or leaves it open if `hangs`.
    """

    def __init__(self, *answers: bytes, status: int = 200, size: int = 7, hangs: bool = False) -> None:
        self._answers = list(answers)
        self._status, self._size, self._hangs = status, size, hangs
        self.began: list[float] = []

    async def turn(self, request: web.Request) -> web.StreamResponse:
        self.began.append(time.monotonic())
        answer = web.StreamResponse(status=self._status, headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        said = self._answers.pop(0)
        for start in range(0, len(said), self._size):
            await answer.write(said[start : start + self._size])
        if self._hangs and self._answers:
            await asyncio.sleep(60)
        return answer

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post(TURN_PATH, self.turn)
        app.router.add_post(CHAT_PATH, self.turn)
        app.router.add_get(f"/{PLUGIN_ID}/mark", self.mark)
        return app

    async def mark(self, request: web.Request) -> web.Response:
        return web.Response(text="seven")


def driver_of(kind: str, process: asyncio.subprocess.Process, *, port: int, home: Path) -> CallDriver:
    if kind == "hermes":
        return HermesDriver(process, port=port, key="k", home=home, app_secret="")
    if kind == "n8n":
        return N8nDriver(process, port=port, password="p")
    settings = home / SETTINGS
    settings.write_text(json.dumps({"plugins": {"entries": {PLUGIN_ID: {"config": {"mark": "seven"}}}}}))
    return OpenclawDriver(process, port=port, token="t", settings=settings, whatsapp_secrets={})


def with_driver(kind: str, engine: ScriptedEngine, home: Path, use: Any) -> Any:
    async def run() -> Any:
        process = await asyncio.create_subprocess_exec("sleep", "60")
        async with TestServer(engine.app()) as server:
            assert server.port is not None
            driver = driver_of(kind, process, port=server.port, home=home)
            try:
                used: Coroutine[Any, Any, Any] = use(driver)
                return await used
            finally:
                process.kill()
                await process.wait()
                await asyncio.wait({driver._end})  # then the connections are closed

    return asyncio.run(run())


async def say(driver: CallDriver) -> tuple[list[str], str]:
    conversation = driver.conversation("one")
    pieces = [str(piece) async for piece in conversation.turn("hello")]
    return pieces, conversation.reply()


def n8n(*pieces: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(piece).encode() + b"\n" for piece in pieces)


N8N_SUCCESS = {"type": "verdict", "status": "success"}


@pytest.mark.parametrize(
    ("kind", "answer", "reply"),
    [
        ("hermes", b": a comment\n\n" + chunk("\n\nOwls ") + chunk("fly.") + END, "Owls fly."),
        ("openclaw", chunk("Owls ") + chunk("fly.") + END, "Owls fly."),
        (
            "n8n",
            n8n(
                {"type": "begin"},
                {"type": "item", "content": "Owls"},
                {"type": "begin"},
                {"type": "item", "content": "fly."},
                N8N_SUCCESS,
            ),
            "Owls\n\nfly.",
        ),
    ],
)
def test_a_reply_arrives_in_pieces_which_together_are_the_reply(
    kind: str, answer: bytes, reply: str, tmp_path: Path
) -> None:
    pieces, whole = with_driver(kind, ScriptedEngine(answer), tmp_path, say)
    assert len(pieces) == 2
    assert "".join(pieces) == whole == reply


@pytest.mark.parametrize(
    ("kind", "answer", "status", "failure", "text"),
    [
        ("hermes", chunk("Owls"), 200, EngineError, "the engine broke off in the middle of the turn"),
        ("hermes", END, 200, ModelError, "the model ended the turn without a word"),
        ("hermes", b'{"error": {"message": "no model"}}', 500, ModelError, "no model"),
        ("hermes", b"<html>", 404, EngineError, "the engine answered 404"),
        ("openclaw", chunk("Owls"), 200, EngineError, "the engine broke off in the middle of the turn"),
        ("openclaw", chunk(" ") + END, 200, ModelError, "the model ended the turn without a word"),
        ("openclaw", b'data: {"error": {"message": "429"}}\n\n', 200, ModelError, "429"),
        ("openclaw", b'{"error": {"message": "busy"}}', 503, EngineError, "busy"),
        ("n8n", n8n({"type": "item", "content": "Owls"}), 200, EngineError, "the engine broke off in the middle"),
        ("n8n", n8n({"type": "item", "content": " "}, N8N_SUCCESS), 200, ModelError, "without a word"),
        ("n8n", b'{"message": "locked"}', 423, EngineError, "locked"),
    ],
)
def test_a_turn_that_failed_says_why(
    kind: str, answer: bytes, status: int, failure: type[Exception], text: str, tmp_path: Path
) -> None:
    with pytest.raises(failure, match=text):
        with_driver(kind, ScriptedEngine(answer, status=status), tmp_path, say)


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("hermes", chunk("Owls"), chunk("Done.") + END),
        ("openclaw", chunk("Owls"), chunk("Done.") + END),
        ("n8n", n8n({"type": "item", "content": "Owls"}), n8n({"type": "item", "content": "Done."}, N8N_SUCCESS)),
    ],
)
def test_the_turn_after_an_aborted_one_waits_until_that_is_over(
    kind: str, first: bytes, second: bytes, tmp_path: Path
) -> None:
    engine = ScriptedEngine(first, second, hangs=True)

    async def abort_and_say_again(driver: CallDriver) -> tuple[list[str], float]:
        turn = driver.conversation("one").turn("hello")
        async with aclosing(turn) as pieces:
            assert await anext(pieces) == "Owls"
        aborted = time.monotonic()
        said, _ = await say(driver)
        return said, engine.began[1] - aborted

    said, waited = with_driver(kind, engine, tmp_path, abort_and_say_again)
    assert said == ["Done."]
    assert waited >= {"hermes": 2.0, "openclaw": 1.0, "n8n": 1.0}[kind] - 0.05


def test_a_turn_that_is_failed_from_outside_raises_that_error(tmp_path: Path) -> None:
    engine = ScriptedEngine(chunk("Owls"), b"", hangs=True)

    async def fail_it(driver: CallDriver) -> None:
        async with aclosing(driver.conversation("one").turn("hello")) as pieces:
            await anext(pieces)
            asyncio.get_running_loop().call_later(0.05, driver.fail, EngineError("out of memory"))
            with pytest.raises(EngineError, match="out of memory"):
                await anext(pieces)

    with_driver("hermes", engine, tmp_path, fail_it)
