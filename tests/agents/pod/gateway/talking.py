"""A person on the chat page in a real Chromium."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.agents.pod.gateway.process import Gateway
from tests.billing.pages.hands import Hands
from tests.browser import Browser, Visit

OVER = "new Promise((done) => setInterval(() => running || talk.turns.some((turn) => turn.drawing) || done(), 50))"


class Talking(Hands):
    async def look(self, path: str = "/", *, dark: bool = False, picture: bool = False) -> Visit:
        return await self.browser.visit(self.server + path, width=self.width, dark=dark, picture=picture)

    async def run(self, script: str) -> Any:
        told = await self.browser.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    async def begin_to_say(self, message: str) -> None:
        await self.run(f"box.value = {json.dumps(message)}; grow(); box.form.requestSubmit()")

    async def say(self, message: str) -> None:
        """Until the agent has answered, or failed."""
        await self.begin_to_say(message)
        await self.is_over()

    async def is_over(self) -> None:
        await self.run(OVER)
        await self.run("new Promise((done) => setTimeout(done, 100))")  # what follows the last drawing

    async def until(self, condition: str, *, seconds: float = 10) -> None:
        waits = f"new Promise((done) => setInterval(() => ({condition}) && done(), 50))"
        async with asyncio.timeout(seconds):
            await self.run(waits)

    async def turns(self) -> list[list[str]]:
        """Who said what, as it is shown."""
        shown = "[turn.className.split(' ')[1], turn.querySelector('.said').innerText.trim()]"
        found: list[list[str]] = await self.run(f"[...document.querySelectorAll('.turn')].map((turn) => {shown})")
        return found

    async def focused(self) -> str:
        return str(await self.run("document.activeElement.id || document.activeElement.className"))

    async def press(self, key: str, *, code: int = 0, modifiers: int = 0, text: str = "") -> None:
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        await self.browser.call("Input.dispatchKeyEvent", type="keyDown", text=text, **pressed)
        await self.browser.call("Input.dispatchKeyEvent", type="keyUp", **pressed)


@asynccontextmanager
async def talking(gateway: Gateway, *, width: int = 1366, dark: bool = False) -> AsyncIterator[Talking]:
    """Signed in by a ticket, as the owner."""
    async with Browser() as browser:
        person = Talking(browser, gateway.public, width=width)
        await person.look(f"/ticket?t={gateway.ticket()}", dark=dark)
        yield person
