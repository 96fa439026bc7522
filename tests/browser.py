"""A real Chromium, driven over its own protocol: what a page looks like, how wide it is, what it asks for."""

from __future__ import annotations

import asyncio
import base64
import copy
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.chromium import chromium

FLAGS = (
    "--no-sandbox",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--mute-audio",
)
START_SECONDS = 30
END_SECONDS = 10
QUIET_SECONDS = 0.5  # without another request
GLANCE_SECONDS = 0.05


@dataclass
class Visit:
    """What one page did."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # of the console: a refused resource, an error
    width: int = 0  # of the whole document
    picture: bytes = b""
    received: int = 0  # bytes that crossed the network, headers included


class Browser:
    """`async with Browser() as browser: visit = await browser.visit(url, width=375)`"""

    quiet_seconds = QUIET_SECONDS

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="browser-"))

    async def __aenter__(self) -> Self:
        own, profile = chromium(), f"--user-data-dir={self.home}"
        self.process = await asyncio.create_subprocess_exec(
            own.program, *own.flags, *FLAGS, profile, "about:blank", stderr=asyncio.subprocess.PIPE, env=own.environment
        )
        self.http = aiohttp.ClientSession()
        await self._attach(await self._page())
        return self

    async def another_tab(self) -> Self:
        """Of the same person; it goes with the first one."""
        opened, tab = await self.call("Target.createTarget", url="about:blank"), copy.copy(self)
        await tab._attach(f"{self.tabs}/{opened['targetId']}")
        return tab

    async def _attach(self, tab: str) -> None:
        self._sent, self.tabs = 0, tab.rpartition("/")[0]
        self.socket = await self.http.ws_connect(tab, max_msg_size=0)
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self.call(f"{domain}.enable")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.socket.close()
        await self.http.close()
        self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), END_SECONDS)
        except TimeoutError:  # it hangs now and then in its own end
            self.process.kill()
            await self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    async def visit(self, url: str, *, width: int, dark: bool = False, picture: bool = False) -> Visit:
        self.visited = Visit()
        await self.look(width=width, dark=dark)
        await self.call("Page.navigate", url=url)
        await self._settle()
        await self.loaded()
        measured = await self.call("Runtime.evaluate", expression="document.documentElement.scrollWidth")
        self.visited.width = measured["result"]["value"]
        if picture:
            taken = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
            self.visited.picture = base64.b64decode(taken["data"])
        return self.visited

    async def look(self, *, width: int, dark: bool = False) -> None:
        """At the page that is open, or the next one, in such a window."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 700}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        await self.call("Emulation.setScrollbarsHidden", hidden=True)  # a long page is as wide as a short one
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def loaded(self) -> None:
        """On a busy machine a page may be silent for as long and still not be there. It may be one without scripts."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                told = await self.call("Runtime.evaluate", expression="document.readyState")
                if told.get("result", {}).get("value") == "complete":
                    return
                await asyncio.sleep(GLANCE_SECONDS)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The protocol's answer; what happens meanwhile is noted."""
        return await self.calls(method, [params])

    async def calls(self, method: str, many: list[dict[str, Any]]) -> dict[str, Any]:
        """One after the other, without waiting for each; the last one's answer."""
        for params in many:
            self._sent += 1
            await self.socket.send_json({"id": self._sent, "method": method, "params": params})
        while True:
            message = await self.socket.receive_json(timeout=START_SECONDS)
            if message.get("id") == self._sent:
                answer: dict[str, Any] = message["result"]
                return answer
            self._note(message)

    async def _settle(self) -> None:
        while True:
            try:
                self._note(await self.socket.receive_json(timeout=self.quiet_seconds))
            except TimeoutError:
                return

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if "method" not in message:  # the answer to one that was not waited for
            return
        if message["method"] == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith("data:"):  # such as the browser's own icon of a calendar: nobody is asked for it
                self.visited.requests.append(url)
        if message["method"] == "Network.loadingFinished":
            self.visited.received += int(params["encodedDataLength"])
        if message["method"] == "Log.entryAdded" and params["entry"]["level"] in {"error", "warning"}:
            self.visited.complaints.append(params["entry"]["text"])

    async def _page(self) -> str:
        """The address of the first tab, once the browser listens."""
        assert self.process.stderr
        async with asyncio.timeout(START_SECONDS):
            async for line in self.process.stderr:
                if said := re.search(rb"DevTools listening on ws://([^/]+)", line):
                    self.unread = asyncio.ensure_future(self._let_it_write())
                    return await self._first_tab(said[1].decode())
        raise RuntimeError("the browser ended at once")

    async def _let_it_write(self) -> None:
        """With its pipe full it would neither go on nor be seen to end."""
        assert self.process.stderr
        while await self.process.stderr.read(65536):
            pass

    async def _first_tab(self, address: str) -> str:
        async with self.http.get(f"http://{address}/json") as answer:
            tabs = await answer.json()
        return next(str(tab["webSocketDebuggerUrl"]) for tab in tabs if tab["type"] == "page")
