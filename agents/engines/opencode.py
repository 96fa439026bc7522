"""The engine opencode: one server for all conversations. Its command line, its configuration and its permissions."""

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
    EnginePlace,
    Launch,
    NpmPackage,
    Processes,
    ProxyAccess,
    Stores,
    mcp_servers,
)
from agents.engines.opencode_http import AGENT, OpencodeDriver
from agents.engines.persona import persona_text
from agents.engines.rendering import chosen_model, environment
from agents.runtimes.base import PodConfig

VERSION = "1.18.33"
_MODULES = Path("node_modules")
# Only machines whose packages have a hash in the lock. The baseline build runs on every x64 CPU. The other build is not
# smaller and needs AVX2.
_BINARIES = {"x86_64": "opencode-linux-x64-baseline"}
_SEARCHES = {"x86_64": "ripgrep-linux-x64"}
_HOST = "127.0.0.1"

# Our provider id, with opencode's own id and the end of the base URL that opencode needs.
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
# Our provider id for an operator's own model server, and opencode's client package for it.
_OWN_SERVER, _OWN_CLIENT = "pod", "@ai-sdk/openai-compatible"
# This program corrects the paths first: opencode stores with each conversation the directory in which it took place.
START = Path(__file__).with_name("opencode_start.py")
# Replaces opencode's own prompt, nine kilobytes about programming. The persona text follows after it, from AGENTS.md.
_PROMPT = "You are an assistant. The instructions below say who you are; follow them. Reply in plain text or Markdown."
_SETTINGS = {
    "$schema": "https://opencode.ai/config.json",
    "autoupdate": False,
    "share": "disabled",
    "snapshot": False,  # snapshots would be copies of the workspace in a separate repository
    "default_agent": AGENT,
}
# opencode's own agents are disabled, because they have another prompt.
_AGENTS = {
    AGENT: {"mode": "primary", "prompt": _PROMPT},
    "build": {"disable": True},
    "plan": {"disable": True},
}
# At every start opencode asks the npm registry for this package, unless its directory says that the package is
# installed.
_PLUGIN = "@opencode-ai/plugin"
_QUIET = (
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_CLAUDE_CODE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_MODELS_FETCH",
    # Files that the agent writes into its workspace must not configure the engine.
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER",
    "OPENCODE_PURE",
)
_TOKEN = "POD_LLM_TOKEN"  # noqa: S105 - the name of a variable
# The time limit for an MCP server in milliseconds; a server that is silent for longer is left out. The whole engine
# waits for it.
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
    # Of the three tools that write files, opencode offers those that suit the model.
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

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """AGENTS.md is read again at each turn, everything else only at the start."""
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
            model=chosen_model(config, _PROVIDERS, own_server=_OWN_SERVER),
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

    def _settings(self, config: PodConfig, llm: ProxyAccess) -> dict[str, Any]:
        model = chosen_model(config, _PROVIDERS, own_server=_OWN_SERVER)
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
        """Permissions for every agent of opencode, so that a helper agent has no more rights. A denied tool is not
        offered to the model.
        """
        chosen = config.toolsets or self.safe_toolsets
        tools = {tool for toolset in chosen for tool in self.toolsets.get(toolset, ())}
        # A shell can leave the workspace anyway.
        outside = {"external_directory"} if "bash" in tools else set()
        offered = {f"{server['name']}__*" for server in servers}
        return {"*": "deny", **dict.fromkeys(sorted(tools | outside | offered), "allow")}


def _json(value: Any) -> str:
    """JSON text in which {env:X} and {file:x} are escaped. opencode replaces these everywhere by variables and files,
    but an owner's text must stay unchanged.
    """
    text = json.dumps(value, indent=1)
    for name in ("env", "file"):
        text = text.replace(f"{{{name}:", f"\\u007b{name}:")
    return text + "\n"


def _endpoint(config: PodConfig, model: tuple[str, str] | None, llm: ProxyAccess) -> dict[str, Any]:
    """The provider's settings: the key proxy's address, and only this model. If opencode knows the model already, the
    entry changes nothing.
    """
    if model is None:
        return {}
    name, ending = _PROVIDERS[config.provider or ""]
    base = f"{llm.url}/llm/{config.provider}{ending}"
    only = {"models": {model[1]: {}}, "whitelist": [model[1]]}
    moved = {"options": {"baseURL": base}, "env": [_TOKEN], **only}
    return {_OWN_SERVER: {**moved, "npm": _OWN_CLIENT}} if model[0] == _OWN_SERVER else {name: moved}


def _server_id(server: Mapping[str, Any]) -> str:
    """The server's id in opencode, which names a tool `<id>_<tool>`. With the added `_` the name is `<server>__<tool>`,
    and never that of an own tool such as `apply_patch`.
    """
    return f"{server['name']}_"


def _mcp(server: Mapping[str, Any]) -> dict[str, Any]:
    # The time limit is for each call too, and a peer needs more time to answer.
    is_peers = server["name"] == PEERS_SERVER
    common = {"enabled": True, "timeout": _PEERS_MILLISECONDS if is_peers else _MCP_MILLISECONDS}
    if server.get("url"):
        return {"type": "remote", "url": server["url"], "headers": server.get("headers") or {}, "oauth": False} | common
    command = [server["command"], *(server.get("args") or [])]
    return {"type": "local", "command": command, "environment": server.get("env") or {}} | common


def _environment(config: PodConfig, place: EnginePlace, llm: ProxyAccess) -> dict[str, str]:
    search = place.install / _MODULES / "@vscode" / _SEARCHES.get(platform.machine(), "") / "bin"
    own = place.data / "opencode"
    return {
        **environment(config, place, search),
        "XDG_CONFIG_HOME": str(own / "config"),
        "XDG_DATA_HOME": str(own / "data"),
        "XDG_CACHE_HOME": str(own / "cache"),
        "XDG_STATE_HOME": str(own / "state"),
        # Makes its garbage collector behave as on a machine with this memory size; without it the engine needs half as
        # much memory again.
        "BUN_JSC_forceRAMSize": str(place.memory_bytes >> 2),
        "OPENCODE_SERVER_PASSWORD": place.password,
        _TOKEN: llm.token,
        **dict.fromkeys(_QUIET, "1"),
    }


OPENCODE = Opencode()
