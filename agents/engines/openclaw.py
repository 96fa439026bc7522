"""The engine openclaw: one server for all conversations and channels. It applies changed settings without a restart."""

from __future__ import annotations

import asyncio
import hashlib
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines import openclaw_channels, openclaw_dashboard, whatsapp
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
from agents.engines.openclaw_http import PLUGIN_ID, SETTINGS, OpenclawDriver
from agents.engines.persona import persona_text
from agents.engines.rendering import environment, heap, json_file
from agents.runtimes.base import PodConfig

VERSION = "2026.9.6"
START = Path(__file__).with_name("openclaw_start.mjs")
PLUGIN = Path(__file__).with_name("openclaw_plugin.js")
_MODULES = Path("node_modules")
_VARIABLE = re.compile(r"\$\{[A-Z_][A-Z0-9_]*\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = "POD_MCP_"
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
# The provider id in openclaw, the same for every vendor. With the vendors' own ids, openclaw would use its own prompts,
# keys and addresses.
_PROVIDER = "pod"

# Our provider id, with the end of the base URL that openclaw needs, and the protocol.
_CHAT, _RESPONSES = "openai-completions", "openai-responses"
_PROVIDERS = {
    "openai": ("/v1", _RESPONSES),
    "anthropic": ("", "anthropic-messages"),
    "openrouter": ("/api/v1", _CHAT),
    "google": ("/v1beta", "google-generative-ai"),
    "gemini": ("/v1beta", "google-generative-ai"),
    "groq": ("/openai/v1", _CHAT),
    "mistral": ("/v1", _CHAT),
    "deepseek": ("", _CHAT),
    "xai": ("/v1", _CHAT),
}
# Settings that all servers for chat completions accept: the oldest form of the protocol.
_PLAIN_CHAT = {"supportsStore": False, "supportsDeveloperRole": False, "maxTokensField": "max_tokens"}
# openclaw needs these numbers for a model that it does not know.
_CONTEXT_TOKENS, _ANSWER_TOKENS = 128_000, 8192
# A turn waits this long for an MCP server; a server that is silent for longer is left out. Calls to a peer may take
# longer, because a peer needs time to answer.
_MCP_CONNECT_MILLISECONDS = 8_000
_MCP_MILLISECONDS = 60_000
_PEERS_MILLISECONDS = 95_000
# Helper agents of one turn: at the same time, waiting, and in total. They have no helpers of their own.
_HELPERS = {"maxConcurrent": 4, "maxChildrenPerGroup": 8, "maxTotalPerGroup": 32}
# With these settings nothing calls the model or the internet by itself.
_SETTINGS: dict[str, Any] = {
    "discovery": {"mdns": {"mode": "off"}},
    "telemetry": {"enabled": False},
    "update": {"checkOnStart": False, "auto": {"enabled": False}},
    # An empty list would mean all skills.
    "skills": {"allowBundled": ["none"], "workshop": {"autonomous": {"mode": "off"}}},
}
_QUIET = {
    "DO_NOT_TRACK": "1",
    "OPENCLAW_CONFIG_READONLY": "1",
    "OPENCLAW_DISABLE_BONJOUR": "1",
    "OPENCLAW_EXEC_SHELL_SNAPSHOT": "0",
    "OPENCLAW_NO_AUTO_UPDATE": "1",
    "OPENCLAW_NO_RESPAWN": "1",
    "OPENCLAW_OFFLINE": "1",
    "OPENCLAW_TRAJECTORY": "0",  # it would be a second copy of all conversations
}


class Openclaw:
    id = "openclaw"
    processes = Processes.ONE_SERVER
    package = NpmPackage(
        name="openclaw",
        version=VERSION,
        recipe=Path(__file__).parent / "npm" / "openclaw",
        entry=_MODULES / "openclaw" / "openclaw.mjs",
    )
    providers = frozenset(_PROVIDERS)
    # The toolsets that work with only the pod's model. `grep` comes from our plugin.
    toolsets: Mapping[str, tuple[str, ...]] = {
        "web": ("web_fetch",),
        "file": ("read", "ls", "grep", "edit", "write"),
        "terminal": ("exec", "process"),
        "memory": ("memory_search", "memory_get"),
        "session_search": ("sessions_search", "sessions_history", "sessions_list"),
        "todo": ("progress_card",),
        "skills": ("read",),
        "delegation": ("sessions_spawn", "agents_wait", "subagents"),
        "cronjob": ("automations",),
    }
    safe_toolsets: tuple[str, ...] = ("web", "file", "memory", "session_search", "todo", "skills")
    mcp_stdio = True
    stores = Stores(
        skills=("workspace/skills",),
        memories=("workspace/memory",),
        sessions="openclaw/agents/main/agent",
        session_files="openclaw-agent.sqlite*",
        count=(
            "SELECT count(*) FROM session_nodes WHERE session_key LIKE 'agent:main:%' AND session_key NOT IN "
            "('agent:main:main', 'agent:main:heartbeat') AND session_key NOT LIKE '%:subagent:%' "
            "AND session_key NOT LIKE '%:cron:%'"
        ),
        left_out=(
            "openclaw/npm",
            "openclaw/openclaw.json",
            "openclaw/persona.md",
            "openclaw/agentpods",
            "openclaw/cache",
            "openclaw/logs",
            "openclaw/tmp",
            "home/.cache",
            "home/.npm",
        ),
    )
    megabytes_per_process = 1024
    start_seconds = 180.0  # 20 seconds on an idle machine, more than a minute on a busy one
    noise = ""

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """openclaw applies changed settings while it runs, and the plugin reads the persona text again at each model
        call.
        """
        home, workspace = place.data / "openclaw", place.data / "workspace"
        plugin = home / PLUGIN_ID
        return Launch(
            files={
                plugin / "index.js": PLUGIN.read_text(encoding="utf-8"),
                plugin / "package.json": json_file({"name": PLUGIN_ID, "type": "module", **_ENTRY}),
                plugin / "openclaw.plugin.json": json_file(_MANIFEST),
            },
            live_files={
                home / SETTINGS: json_file(_marked(self._settings(config, place, llm))),
                home / "persona.md": persona_text(config),
            },
            directories=(home, plugin, workspace, place.data / "home", place.data / "tmp"),
            argv=(
                str(place.node),
                heap(place, least=768, most=2048),
                str(START),
                str(place.install / self.package.entry),
                *("gateway", "run"),
            ),
            env=_environment(config, place, llm),
            cwd=workspace,
            model=None,  # the model is in the settings, and openclaw uses the model that is there
            private=whatsapp.secrets(config),
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return OpenclawDriver(
            process,
            port=int(launch.env["OPENCLAW_GATEWAY_PORT"]),
            token=launch.env["OPENCLAW_GATEWAY_PASSWORD"],
            settings=Path(launch.env["OPENCLAW_STATE_DIR"]) / SETTINGS,
            whatsapp_secrets=launch.private,
        )

    def _settings(self, config: PodConfig, place: EnginePlace, llm: ProxyAccess) -> dict[str, Any]:
        chosen = [name for name in config.toolsets or self.safe_toolsets if name in self.toolsets]
        servers = mcp_servers(config, llm)
        return {
            **_SETTINGS,
            **_model(config, llm),
            "gateway": _gateway(place),
            "logging": {"level": "warn", "file": str(place.data / "openclaw" / "logs" / "openclaw.log")},
            "agents": {"defaults": _agent(config, place)},
            "plugins": _plugins(config, place, chosen),
            "tools": self._tools(chosen, has_servers=bool(servers)),
            "cron": {"enabled": "cronjob" in chosen},
            "mcp": {"servers": {server["name"]: _literal(_mcp(server)) for server in servers}},
            "channels": openclaw_channels.settings(config),
            "commands": openclaw_channels.COMMANDS,
            # otherwise all people who write to the bot share one conversation
            "session": {"dmScope": "per-channel-peer"},
        }

    def _tools(self, chosen: list[str], *, has_servers: bool) -> dict[str, Any]:
        """The settings for tools. An empty list of allowed tools would allow all, and a list without a known tool is an
        error.
        """
        tools = {tool for toolset in chosen for tool in self.toolsets[toolset]}
        offered = tools | ({"bundle-mcp"} if has_servers else set())
        return {
            **({"allow": sorted(offered)} if offered else {"deny": ["*"]}),
            "toolSearch": False,
            "codeMode": False,
            "swarm": _HELPERS,
            # The toolset is the permission. The person who talks to the agent is the same who would have to approve a
            # command.
            "exec": {"host": "gateway", "security": "full", "ask": "off", "applyPatch": {"enabled": False}},
            "fs": {"workspaceOnly": "terminal" not in chosen},
            "web": {"search": {"enabled": False}},
        }


_ENTRY = {"version": "1.0.0", "openclaw": {"extensions": ["./index.js"]}}
_MANIFEST = {
    "id": PLUGIN_ID,
    "name": "Agentpods",
    "description": "The persona, the model and a search of this agent",
    "providers": [_PROVIDER],
    "contracts": {"tools": ["grep"]},
    "activation": {"onStartup": True},
    "configSchema": {"type": "object", "additionalProperties": True},
}


def _marked(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with a mark (their hash). By the mark the driver sees that they have been applied."""
    mark = hashlib.sha256(json_file(settings).encode("utf-8", "replace")).hexdigest()
    settings["plugins"]["entries"][PLUGIN_ID]["config"]["mark"] = mark
    return settings


def _literal(value: Any) -> Any:
    """openclaw replaces ${X} by a variable everywhere. Escape it, so that an owner's text stays unchanged."""
    if isinstance(value, dict):
        return {name: _literal(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_literal(one) for one in value]
    return _VARIABLE.sub(r"$\g<0>", value) if isinstance(value, str) else value


def _is_asked(config: PodConfig) -> bool:
    return config.provider in _PROVIDERS and bool(config.model)


def _model(config: PodConfig, llm: ProxyAccess) -> dict[str, Any]:
    """The settings for the model. The key proxy is the only provider; otherwise openclaw would add its catalogue of all
    others.
    """
    if not _is_asked(config):
        return {"models": {"mode": "replace", "catalogRefresh": {"enabled": False}, "providers": {}}}
    ending, protocol = _PROVIDERS[config.provider or ""]
    if config.own_model_server and protocol == _RESPONSES:
        protocol = _CHAT
    model = {
        "id": config.model,
        "name": config.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": _CONTEXT_TOKENS,
        "maxTokens": _ANSWER_TOKENS,
        **({"compat": _PLAIN_CHAT} if protocol == _CHAT else {}),
    }
    provider = {
        "baseUrl": f"{llm.url}/llm/{config.provider}{ending}",
        "apiKey": "${POD_LLM_TOKEN}",
        "api": protocol,
        "models": [model],
    }
    return {"models": {"mode": "replace", "catalogRefresh": {"enabled": False}, "providers": {_PROVIDER: provider}}}


def _gateway(place: EnginePlace) -> dict[str, Any]:
    return {
        "mode": "local",
        "bind": "loopback",
        "port": place.port,
        "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        **openclaw_dashboard.settings(),
    }


def _agent(config: PodConfig, place: EnginePlace) -> dict[str, Any]:
    model = {"primary": f"{_PROVIDER}/{config.model}"} if _is_asked(config) else {}
    return {
        "model": model,
        "utilityModel": "",
        "heartbeat": {"every": "0m"},
        "skipBootstrap": True,
        "subagents": {"maxSpawnDepth": 1},
        "workspace": str(place.data / "workspace"),
        "userTimezone": config.timezone or "UTC",
    }


def _plugins(config: PodConfig, place: EnginePlace, chosen: list[str]) -> dict[str, Any]:
    home, modules = place.data / "openclaw", place.install / _MODULES
    machine = _MACHINES.get(platform.machine(), platform.machine())
    ours = {
        "provider": _PROVIDER,
        "persona": str(home / "persona.md"),
        "workspace": str(place.data / "workspace"),
        "remembers": {"memory", "file"} <= set(chosen),
        "skills": str(place.data / "workspace" / "skills") if "skills" in chosen else "",
        "timezone": config.timezone or "UTC",
        "ripgrep": str(modules / "@vscode" / f"ripgrep-linux-{machine}" / "bin" / "rg"),
    }
    memory = {"enabled": "memory" in chosen, "config": {"dreaming": {"enabled": False}}}
    return {
        "allow": [PLUGIN_ID, "admin-http-rpc", "memory-core", *openclaw_channels.platforms(config)],
        "load": {"paths": [str(home / PLUGIN_ID)]},
        "entries": {
            PLUGIN_ID: {"enabled": True, "config": ours},
            # reports the state of the channels
            "admin-http-rpc": {"enabled": bool(openclaw_channels.platforms(config))},
            "memory-core": memory,
        },
    }


def _mcp(server: Mapping[str, Any]) -> dict[str, Any]:
    is_peers = server["name"] == PEERS_SERVER
    common = {
        "connectionTimeoutMs": _MCP_CONNECT_MILLISECONDS,
        "requestTimeoutMs": _PEERS_MILLISECONDS if is_peers else _MCP_MILLISECONDS,
    }
    if server.get("url"):
        headers = server.get("headers") or {}
        return {"url": server["url"], "transport": "streamable-http", "headers": headers, **common}
    return {**_command(server), **common}


def _command(server: Mapping[str, Any]) -> dict[str, Any]:
    """The command of an MCP server. openclaw leaves out many variables by their names, such as PYTHONPATH. So they get
    other names, and a shell renames them before it starts the server. No value is in an argument.
    """
    command = [server["command"], *(server.get("args") or [])]
    given = {name: value for name, value in (server.get("env") or {}).items() if _NAME.fullmatch(name)}
    if not given:
        return {"command": command[0], "args": command[1:]}
    back = "".join(f'export {name}="${_OURS}{name}"; unset {_OURS}{name}; ' for name in given)
    env = {_OURS + name: value for name, value in given.items()}
    return {"command": "/bin/sh", "args": ["-c", f'{back}exec "$@"', "sh", *command], "env": env}


def _environment(config: PodConfig, place: EnginePlace, llm: ProxyAccess) -> dict[str, str]:
    return {
        **environment(config, place),
        "TZ": "UTC",  # until the plugin sets it
        "OPENCLAW_STATE_DIR": str(place.data / "openclaw"),
        "OPENCLAW_GATEWAY_PORT": str(place.port),
        "OPENCLAW_GATEWAY_PASSWORD": place.password,
        openclaw_dashboard.PROOF: openclaw_dashboard.proof(place.password),
        "POD_LLM_TOKEN": llm.token,
        **_QUIET,
        **openclaw_channels.environment(config),
    }


OPENCLAW = Openclaw()
