"""WhatsApp, changed inside hermes' own process (hermes_start.py): the platform sends each message again and again until
its turn is over.
If a restart cuts a turn off, its message is taken once more. Finished messages are remembered beyond a restart. This
module imports nothing from this project.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from pathlib import Path
from typing import Any

# The number of remembered message names. The platform repeats a message for a day at most.
NAMES_KEPT = 5_000


def change(home: Path) -> None:
    module = importlib.import_module("gateway.platforms.whatsapp_cloud")
    if "POD_WHATSAPP_URL" in os.environ:
        vars(module)["GRAPH_API_BASE"] = os.environ["POD_WHATSAPP_URL"]
    WebhookFilter(home, module).sit_before(module.WhatsAppCloudAdapter)


class WebhookFilter:
    """Handles the platform's requests before hermes' own webhook does."""

    def __init__(self, home: Path, module: Any) -> None:
        self._port = home / "webhook-port"
        self._web = module.web
        self._read = Read(home / "whatsapp-read")
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._is_ending = False

    def sit_before(self, adapter: Any) -> None:
        methods = vars(adapter)
        connect, handle = methods["connect"], methods["_handle_webhook"]
        end = adapter.cancel_background_tasks

        async def connected(one: Any, **named: Any) -> bool:
            done: bool = await connect(one, **named)
            if done:
                address = vars(one)["_runner"].addresses[0]
                self._port.write_text(str(address[1]))
                runner = vars(one)["_message_handler"].__self__
                importlib.import_module("hermes_turns").leave_restoring(runner, one.platform)
            return done

        async def handled(one: Any, request: Any) -> Any:
            name = request.headers.get("X-Pod-Message", "")
            if _is(one, "_startup_restore_in_progress", "_draining"):
                return self._web.Response(status=503)
            return self._known(name) or self._begun(await handle(one, request), one, name)

        async def ended(one: Any) -> None:
            self._is_ending = True
            await end(one)

        adapter.connect, adapter.cancel_background_tasks = connected, ended
        setattr(adapter, "_handle_webhook", handled)  # noqa: B010 # an internal method of hermes

    def _known(self, name: str) -> Any:
        if name in self._read:
            return self._web.Response(text="over")
        return self._web.Response(text="being read") if name in self._reading else None

    def _begun(self, answer: Any, adapter: Any, name: str) -> Any:
        if answer.status == 200 and name:
            self._reading[name] = asyncio.create_task(self._until_over(adapter, name))
        return answer

    async def _until_over(self, adapter: Any, name: str) -> None:
        """Wait for the turns that run now, then for those after them, because a message that is sent during a turn
        becomes the next turn. After that the message counts as finished. Waiting for all turns would not work: with a
        busy phone number some turn is always running.
        """
        tasks = vars(adapter)["_background_tasks"]
        for _ in range(2):
            if running := {task for task in tasks if not task.done()}:
                await asyncio.wait(running)
        if not self._is_ending and not _is(adapter, "_draining"):
            self._read.add(name)
        self._reading.pop(name, None)


def _is(adapter: Any, *states: str) -> bool:
    """Whether hermes is in one of these states, in hermes' own words. While it restores sessions it would put a message
    aside, and a kill would lose the message; while it drains it cuts turns off.
    """
    runner = getattr(vars(adapter)["_message_handler"], "__self__", None)
    return any(getattr(runner, state, False) for state in states)


class Read:
    """A set of names, stored in a file with one line each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._names = dict.fromkeys(lines[-NAMES_KEPT:])
        file.write_text("".join(f"{name}\n" for name in self._names))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        self._names[name] = None
        with self._file.open("a") as file:
            file.write(f"{name}\n")
