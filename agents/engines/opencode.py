"""The engine opencode: one server for all conversations. What it is started with, and what its permissions mean."""

from __future__ import annotations

import asyncio
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines.base import (
    PEERS_SERVER,
    Driver,
    KeyProxy,
    Launch,
    NpmPackage,
    Place,
    Processes,
    Stores,
    mcp_servers,
)
from agents.engines.opencode_http import AGENT, OpencodeDriver
from agents.engines.persona import persona_text
from agents.runtimes.base import PodConfig

VERSION = "1.18.33"
_MODULES = Path("node_modules")
# Only machines whose packages have a hash in the lock. The baseline build runs on every x64 CPU; the other one is no
# smaller and wants AVX2.
_BINARIES = {"x86_64": "opencode-linux-x64-baseline"}
_SEARCHES = {"x86_64": "ripgrep-linux-x64"}
_HOST = "127.0.0.1"

# Our provider id, opencode's own id for it, and what opencode wants at the end of its base URL.
_PROVIDERS = {
    "openai": ("openai", "/v1"),
    "anthropic": ("anthropic", "/v1"),
    "openrouter": ("openrouter", "/api/v1"),
    "google": ("google", "/v1beta"),
    "gemini": ("google", "/v1beta"),
    "groq": ("groq", "/openai/v1"),
    "mistral": ("mistral", "/v1"),
    "deepseek": ("deepseek", "/v1"),
    "xai": ("xai", "/v1"),
}
# Our provider id of an operator's own model server, and opencode's client for those.
_OWN_SERVER, _OWN_CLIENT = "pod", "@ai-sdk/openai-compatible"
# opencode keeps with each conversation the path that it was held in.
START = Path(__file__).with_name("opencode_start.py")
# In place of nine kilobytes about programming. The persona follows it, from AGENTS.md.
_PROMPT = "You are an assistant. The instructions below say who you are; follow them. Reply in plain text or Markdown."
_SETTINGS = {
    "$schema": "https://opencode.ai/config.json",
    "autoupdate": False,
    "share": "disabled",
    "snapshot": False,  # copies of the workspace in a repository of its own
    "default_agent": AGENT,
}
# Its own agents would bring another prompt.
_AGENTS = {
    AGENT: {"mode": "primary", "prompt": _PROMPT},
    "build": {"disable": True},
    "plan": {"disable": True},
}
# opencode asks its registry for this package at every start, unless its directory says that it has it.
_PLUGIN = "@opencode-ai/plugin"
_QUIET = (
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    # What the agent writes into its workspace must not configure the engine.
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
    "OPENCODE_PURE",
)
_TOKEN = "POD_LLM_TOKEN"  # noqa: S105 - the name of a variable
# An MCP server that is silent for longer is left out; everything waits for it.
_MCP_MILLISECONDS = 15_000
_PEERS_MILLISECONDS = 95_000


class Opencode:
    id = "opencode"
    processes = Processes.ONE_SERVER
    package = NpmPackage(
        name="opencode",
        version=VERSION,
        recipe=Path(__file__).parent / "npm" / "opencode",
        entry=_MODULES / _BINARIES.get(platform.machine(), "opencode-for-this-machine") / "bin" / "opencode",
        native=True,
    )
    providers = frozenset(_PROVIDERS)
    # Which of the three that write a model is offered depends on the model.
    toolsets: Mapping[str, tuple[str, ...]] = {
        "web": ("webfetch",),
        "file": ("read", "glob", "grep", "edit", "write", "apply_patch"),
        "terminal": ("bash",),
        "todo": ("todowrite",),
        "skills": ("skill",),
        "delegation": ("task",),
    }
    safe_toolsets: tuple[str, ...] = ("web", "file", "todo", "skills")
    mcp_stdio = True
    stores = Stores(
        skills=("opencode/config/opencode/skills", "opencode/config/opencode/skill"),
        sessions="opencode/data/opencode",
        session_files="opencode.db*",
        count="SELECT count(*) FROM session WHERE parent_id IS NULL",
        left_out=(
            "opencode/config/opencode/*.json",
            "opencode/config/opencode/AGENTS.md",
            "opencode/config/opencode/node_modules",
            "opencode/cache",
            "opencode/data/opencode/log",
            "home/.cache",
            "home/.npm",
        ),
    )
    megabytes_per_process = 512
    noise = "Warning: "

    def render(self, config: PodConfig, *, place: Place, llm: KeyProxy) -> Launch:
        """AGENTS.md is read again at each turn, everything else at the start only."""
        home = place.data / "opencode"
        settings = home / "config" / "opencode"
        workspace = place.data / "workspace"
        files = {
            settings / "opencode.json": _json(self._settings(config, llm)),
            settings / "package-lock.json": _json({"packages": {"": {"dependencies": {_PLUGIN: VERSION}}}}),
        }
        return Launch(
            files=files,
            live_files={settings / "AGENTS.md": persona_text(config)},
            directories=(settings / "node_modules", workspace, place.data / "home", place.data / "tmp"),
            argv=(
                *(sys.executable, "-I", str(START)),
                str(place.install / self.package.entry),
                "serve",
                *("--print-logs", "--log-level", "ERROR"),
                *("--hostname", _HOST, "--port", str(place.port)),
            ),
            env=_environment(config, place, llm),
            cwd=workspace,
            model=_model(config),
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return OpencodeDriver(
            process,
            base_url=f"http://{_HOST}:{launch.argv[-1]}",
            password=launch.env["OPENCODE_SERVER_PASSWORD"],
            model=launch.model,
        )

    def _settings(self, config: PodConfig, llm: KeyProxy) -> dict[str, Any]:
        model = _model(config)
        servers = mcp_servers(config, llm)
        chosen = {"model": "/".join(model), "small_model": "/".join(model)} if model else {}
        return {
            **_SETTINGS,
            **chosen,
            "enabled_providers": [model[0]] if model else [],
            "provider": _endpoint(config, model, llm),
            "agent": _AGENTS,
            "permission": self._permissions(config, servers),
            "mcp": {_server_id(server): _mcp(server) for server in servers},
        }

    def _permissions(self, config: PodConfig, servers: list[dict[str, Any]]) -> dict[str, str]:
        """For every agent of opencode, so that one that it delegates to has no more. What is denied is not offered."""
        chosen = config.toolsets or self.safe_toolsets
        tools = {tool for toolset in chosen for tool in self.toolsets.get(toolset, ())}
        # A shell gets out of the workspace anyway.
        outside = {"external_directory"} if "bash" in tools else set()
        offered = {f"{server['name']}__*" for server in servers}
        return {"*": "deny", **dict.fromkeys(sorted(tools | outside | offered), "allow")}


def _json(value: Any) -> str:
    """opencode puts variables and files in place of {env:X} and {file:x}, wherever they stand: an owner's text stays
    as it is, for in JSON a brace can be written otherwise."""
    text = json.dumps(value, indent=1)
    for name in ("env", "file"):
        text = text.replace(f"{{{name}:", f"\\u007b{name}:")
    return text + "\n"


def _model(config: PodConfig) -> tuple[str, str] | None:
    known = _PROVIDERS.get(config.provider or "")
    if not known or not config.model:
        return None
    return (_OWN_SERVER if _speaks_chat_alone(config) else known[0], config.model)


def _speaks_chat_alone(config: PodConfig) -> bool:
    """opencode speaks the Responses API with these two, which few model servers but the vendors' own have."""
    return config.own_model_server and config.provider in {"openai", "xai"}


def _endpoint(config: PodConfig, model: tuple[str, str] | None, llm: KeyProxy) -> dict[str, Any]:
    """The provider, moved to the key proxy, with this one model. Declaring one that opencode knows changes nothing."""
    if model is None:
        return {}
    name, ending = _PROVIDERS[config.provider or ""]
    base = f"{llm.url}/llm/{config.provider}{ending}"
    only = {"models": {model[1]: {}}, "whitelist": [model[1]]}
    moved = {"options": {"baseURL": base}, "env": [_TOKEN], **only}
    return {_OWN_SERVER: {**moved, "npm": _OWN_CLIENT}} if model[0] == _OWN_SERVER else {name: moved}


def _server_id(server: Mapping[str, Any]) -> str:
    """opencode calls a tool `<id>_<tool>`: so it is `<server>__<tool>`, and `apply` with `patch` no tool of its own."""
    return f"{server['name']}_"


def _mcp(server: Mapping[str, Any]) -> dict[str, Any]:
    # Of each of its calls too, and a peer takes its time to answer.
    is_peers = server["name"] == PEERS_SERVER
    common = {"enabled": True, "timeout": _PEERS_MILLISECONDS if is_peers else _MCP_MILLISECONDS}
    if server.get("url"):
        return {"type": "remote", "url": server["url"], "headers": server.get("headers") or {}, "oauth": False} | common
    command = [server["command"], *(server.get("args") or [])]
    return {"type": "local", "command": command, "environment": server.get("env") or {}} | common


def _environment(config: PodConfig, place: Place, llm: KeyProxy) -> dict[str, str]:
    """Nothing of ours is inherited: the engine sees this and no more."""
    search = place.install / _MODULES / "@vscode" / _SEARCHES.get(platform.machine(), "") / "bin"
    own = place.data / "opencode"
    return {
        "PATH": f"{search}:{place.node.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place.data / "home"),
        "TMPDIR": str(place.data / "tmp"),
        "LANG": "C.UTF-8",
        "TZ": config.timezone or "UTC",
        "XDG_CONFIG_HOME": str(own / "config"),
        "XDG_DATA_HOME": str(own / "data"),
        "XDG_CACHE_HOME": str(own / "cache"),
        "XDG_STATE_HOME": str(own / "state"),
        # Collects garbage as on a machine of this size; without it the engine takes half as much again.
        "BUN_JSC_forceRAMSize": str(place.memory_bytes >> 2),
        "OPENCODE_SERVER_PASSWORD": place.password,
        _TOKEN: llm.token,
        **dict.fromkeys(_QUIET, "1"),
    }


OPENCODE = Opencode()
