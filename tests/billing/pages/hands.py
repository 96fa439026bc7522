"""A person at a real browser: they type, press keys and click, with or without scripts."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.browser import Browser

SETTLING = 0.2


class Hands:
    def __init__(self, browser: Browser, server: str, *, scripts: bool = True, width: int = 1280) -> None:
        self.browser, self.server, self.scripts, self.width = browser, server, scripts, width

    async def open(self, place: str) -> None:
        await self.browser.call("Emulation.setScriptExecutionDisabled", value=not self.scripts)
        await self.browser.visit(self.server + place, width=self.width)

    async def type(self, selector: str, text: str) -> None:
        await self.browser.call("DOM.focus", nodeId=await self._find(selector))
        await self.browser.call("Input.insertText", text=text)

    async def click(self, selector: str) -> None:
        """In the middle of it, wherever it is."""
        node = await self._find(selector)
        await self.browser.call("DOM.scrollIntoViewIfNeeded", nodeId=node)
        box = (await self.browser.call("DOM.getBoxModel", nodeId=node))["model"]["content"]
        at = {"x": (box[0] + box[4]) / 2, "y": (box[1] + box[5]) / 2, "button": "left", "clickCount": 1}
        await self.browser.call("Input.dispatchMouseEvent", type="mousePressed", **at)
        await self.browser.call("Input.dispatchMouseEvent", type="mouseReleased", **at)
        await self.browser._settle()
        await asyncio.sleep(SETTLING)

    async def html(self) -> str:
        document = await self.browser.call("DOM.getDocument")
        return str((await self.browser.call("DOM.getOuterHTML", nodeId=document["root"]["nodeId"]))["outerHTML"])

    async def said(self, expression: str) -> Any:
        """What a script of the test says; one of the page may not run."""
        asked = {"expression": expression, "awaitPromise": True, "userGesture": True, "returnByValue": True}
        return (await self.browser.call("Runtime.evaluate", **asked))["result"].get("value")

    async def cookies(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.browser.call("Network.getCookies"))["cookies"]
        return found

    async def _find(self, selector: str) -> int:
        document = await self.browser.call("DOM.getDocument")
        found = await self.browser.call("DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector)
        assert found["nodeId"], f"there is no {selector}"
        return int(found["nodeId"])
