"""`python -I hermes_start.py hermes_cli.main …`: starts hermes of exactly this version, after changes that no setting
can make.
The program runs in hermes' own Python environment, so it imports nothing from this project.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# hermes notices a disconnected caller only when it writes to the connection. In a silence it writes this often
# (seconds); without this it would write less often.
KEEPALIVE_SECONDS = 1.0
# The longest tool name that every provider accepts.
NAME_CHARACTERS = 64
FAILURE_CHARACTERS = 200
# hermes builds a conversation's system prompt again if the stored prompt names another model than the current one.
_STALE = "Model: (of an earlier configuration)"


def main() -> None:
    forget_prompts(Path(os.environ["HERMES_HOME"]))
    program = importlib.import_module(sys.argv[1])
    notice_callers_that_hang_up()
    end_model_calls_of_ended_turns()
    search_where_the_engine_works()
    name_mcp_tools()
    introduce_nobody_by_commands()
    notice_polls()
    follow_channels(Path(os.environ["HERMES_HOME"]))
    sys.argv = ["hermes", *sys.argv[2:]]
    sys.exit(program.main())


def forget_prompts(home: Path) -> None:
    """Conversations keep their messages, but not the persona text and tools of an earlier configuration."""
    version, marker = (home / "prompt-version").read_text(), home / "prompt-version.applied"
    with suppress(FileNotFoundError):
        if marker.read_text() == version:
            return
    database = home / "state.db"
    if database.exists():
        with closing(sqlite3.connect(database, timeout=10)) as connection, connection:
            connection.execute("UPDATE sessions SET system_prompt = ? WHERE system_prompt IS NOT NULL", (_STALE,))
    marker.write_text(version)


def notice_callers_that_hang_up() -> None:
    api_server = importlib.import_module("gateway.platforms.api_server")
    vars(api_server)["CHAT_COMPLETIONS_SSE_KEEPALIVE_SECONDS"] = KEEPALIVE_SECONDS


def end_model_calls_of_ended_turns() -> None:
    """hermes closes the sockets of an interrupted model call, but looks for them in the wrong place when there is no
    proxy. Show it the right ones.
    """
    helpers = vars(importlib.import_module("agent.agent_runtime_helpers"))
    known = helpers["_iter_pool_sockets"]

    def sockets(client: Any) -> Iterator[Any]:
        yield from known(client)
        for transport in vars(vars(client)["_client"])["_mounts"].values():
            yield from known(SimpleNamespace(_client=SimpleNamespace(_transport=transport)))

    helpers["_iter_pool_sockets"] = sockets


def search_where_the_engine_works() -> None:
    """Give its search an absolute path. The search leaves out hidden directories, and without ripgrep it takes `.` for
    a hidden directory.
    """
    operations: Any = importlib.import_module("tools.file_operations")
    search = operations.ShellFileOperations.search

    def absolute(self: Any, pattern: str, path: str = ".", *rest: Any, **named: Any) -> Any:
        place = Path(getattr(self.env, "cwd", None) or self.cwd) / Path(path).expanduser()
        return search(self, pattern, str(place.resolve()), *rest, **named)

    operations.ShellFileOperations.search = absolute


def name_mcp_tools() -> None:
    """Name tools `<server>__<tool>`, with characters that every provider accepts, and each name only once."""
    taken: dict[str, tuple[str, str]] = {}

    def name(server: str, tool: str) -> str:
        wanted = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server.removeprefix('u-')}__{tool}")
        if len(wanted) > NAME_CHARACTERS or taken.setdefault(wanted, (server, tool)) != (server, tool):
            mark = hashlib.sha256(f"{server}\n{tool}".encode()).hexdigest()[:8]
            return f"{wanted[: NAME_CHARACTERS - 9]}_{mark}"
        return wanted

    vars(importlib.import_module("tools.mcp_tool"))["mcp_prefixed_tool_name"] = name


def introduce_nobody_by_commands() -> None:
    """Keep hermes from its reaction to an agent's very first message: it would tell the model to introduce itself and
    to name a command.
    """
    store: Any = importlib.import_module("gateway.session").SessionStore
    store.has_any_sessions = lambda _: True


def follow_channels(home: Path) -> None:
    """Apply the changes in the other files of this directory."""
    beside("hermes_kept")
    beside("hermes_turns")
    beside("hermes_whatsapp").change(home)
    beside("hermes_cron").change(home)
    if os.environ.get("TELEGRAM_BOT_TOKEN"):
        beside("hermes_telegram").change(home)
    if os.environ.get("DISCORD_BOT_TOKEN"):
        beside("hermes_discord").change(home)
    if os.environ.get("EMAIL_ADDRESS"):
        beside("hermes_mail").change(home)


def beside(name: str) -> Any:
    """Import a file of this directory. Python runs without this directory in its import path."""
    found = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if found is None or found.loader is None:
        raise ImportError(f"{name}.py is missing")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def notice_polls() -> None:
    """Add to hermes' report how long ago Telegram's last successful poll was. hermes itself calls Telegram connected
    even if no poll succeeds.
    """
    if not os.environ.get("TELEGRAM_BOT_TOKEN"):
        return
    bot: Any = importlib.import_module("telegram").Bot
    status = vars(importlib.import_module("gateway.status"))
    poll, read = bot.get_updates, status["read_runtime_status"]
    last: dict[str, Any] = {"at": time.monotonic(), "failure": None, "refused": False}

    async def noted(self: Any, *given: Any, **named: Any) -> Any:
        try:
            updates = await poll(self, *given, **named)
        except Exception as error:
            # The message of this error contains the token. hermes does not try again after it.
            refused = type(error).__name__ == "InvalidToken"
            last.update(failure=None if refused else str(error)[:FAILURE_CHARACTERS], refused=refused)
            raise
        # a call without a time limit only confirms earlier messages, and succeeds even if another program polls this
        # bot
        if named.get("timeout"):
            last.update(at=time.monotonic(), failure=None, refused=False)
        return updates

    def report(*given: Any) -> Any:
        found = read(*given)
        telegram = ((found or {}).get("platforms") or {}).get("telegram")
        if telegram is not None:
            seconds = time.monotonic() - last["at"]
            telegram["poll"] = {"seconds": seconds, "failure": last["failure"], "refused": last["refused"]}
        return found

    bot.get_updates = noted
    status["read_runtime_status"] = report


if __name__ == "__main__":
    main()
