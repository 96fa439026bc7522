"""The engine pi: what it is called with, which files it reads, which of its tools a toolset means."""

from __future__ import annotations

import asyncio
import functools
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines.base import Driver, KeyProxy, Launch, NpmPackage, Place, Processes, Stores, mcp_servers
from agents.engines.persona import persona_text
from agents.engines.pi_rpc import PiDriver
from agents.runtimes.base import PodConfig

VERSION = "0.87.1"
_MODULES = Path("node_modules")
_PI = _MODULES / "@earendil-works" / "pi-coding-agent"
_CATALOG = _MODULES / "@earendil-works" / "pi-ai" / "dist" / "providers" / "data"
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}

# Our provider id, pi's own id for it, and what pi wants at the end of its base URL.
_PROVIDERS = {
    "openai": ("openai", "/v1"),
    "anthropic": ("anthropic", ""),
    "openrouter": ("openrouter", "/api/v1"),
    "google": ("google", "/v1beta"),
    "gemini": ("google", "/v1beta"),
    "groq": ("groq", "/openai/v1"),
    "mistral": ("mistral", ""),
    "deepseek": ("deepseek", ""),
    "xai": ("xai", "/v1"),
}
_BUILT_IN = ("read", "bash", "powershell", "edit", "write", "grep", "find", "ls")
# Extensions of ours. pi has no MCP of its own; and it would tell the model where on this machine it works.
MCP_EXTENSION = Path(__file__).with_name("pi_mcp.ts")
PROMPT_EXTENSION = Path(__file__).with_name("pi_prompt.ts")
# pi looks for a conversation by the path of the workspace.
START = Path(__file__).with_name("pi_start.mjs")
# Our provider id of an operator's own model server.
_OWN_SERVER = "pod"
# What such servers all take: the wire of chat completions as it was at first.
_PLAIN_CHAT = {
    "supportsStore": False,
    "supportsDeveloperRole": False,
    "supportsReasoningEffort": False,
    "supportsStrictMode": False,
    "maxTokensField": "max_tokens",
}
# No prompt templates, context files, or extensions but ours: they would be looked for in the directories above the
# workspace too.
_FLAGS = (
    "--mode",
    "rpc",
    "--no-approve",
    "--no-context-files",
    "--no-extensions",
    "--no-prompt-templates",
    "--no-themes",
)
_SETTINGS = {
    "cacheWarming": "off",  # no model calls that the user did not ask for
    "defaultProjectTrust": "never",
    "enableAnalytics": False,
    "enableInstallTelemetry": False,
    "quietStartup": True,
    "retry": {"enabled": True, "maxRetries": 3, "baseDelayMs": 1000},
    "transport": "sse",
}
# Some models take changes in the middle of a conversation. Then pi keeps sending the old soul and tools, and the change
# behind them; a disabled tool would still be offered. Without these it sends the present ones alone.
_NO_HISTORY_OF_CHANGES = {
    "supportsAdditionalTools": False,
    "supportsMidConvoSystemMessages": False,
    "supportsMidConvoToolAdditions": False,
    "supportsMidConvoToolChanges": False,
    "supportsToolSearch": False,
}


class Pi:
    id = "pi"
    processes = Processes.PER_CONVERSATION
    package = NpmPackage(
        name="@earendil-works/pi-coding-agent",
        version=VERSION,
        recipe=Path(__file__).parent / "npm" / "pi",
        entry=_PI / "dist" / "bundle" / "cli.js",
    )
    providers = frozenset(_PROVIDERS)
    # pi's `find` is left out: it needs a program that no registry of packages has, and `ls` and `grep` do without.
    toolsets: Mapping[str, tuple[str, ...]] = {
        "file": ("read", "ls", "grep", "edit", "write"),
        "terminal": ("bash",),
        "skills": ("read",),
    }
    safe_toolsets: tuple[str, ...] = ("file", "skills")
    mcp_stdio = False  # our extension speaks HTTP
    stores = Stores(
        skills=("pi/skills", "home/.agents/skills"),
        sessions="pi/sessions",
        session_files="*.jsonl",
        left_out=("pi/*.json", "pi/*.md", "pi/*.ts", "home/.cache", "home/.npm"),
    )
    megabytes_per_process = 144
    noise = "Warning: No project session found"  # said at the start of each conversation

    def render(self, config: PodConfig, *, place: Place, llm: KeyProxy) -> Launch:
        """pi reads soul, model list and settings at its start only; tools are flags."""
        home = place.data / "pi"
        model = _model(config)
        tools = self._tools(config)
        servers = mcp_servers(config, llm)
        settings = {**_SETTINGS, **({"defaultProvider": model[0], "defaultModel": model[1]} if model else {})}
        files = {
            home / "settings.json": _json({**settings, "defaultTools": tools}),
            home / "models.json": _json({"providers": _endpoint(config, model, place, llm)}),
            home / "SYSTEM.md": persona_text(config),  # in place of pi's own text, which is about programming
            home / "APPEND_SYSTEM.md": "",  # here an earlier release put the persona
            home / PROMPT_EXTENSION.name: PROMPT_EXTENSION.read_text(encoding="utf-8"),
            **_mcp_files(servers, home),
        }
        workspace = place.data / "workspace"
        return Launch(
            files=files,
            directories=(home, workspace, place.data / "home", place.data / "tmp"),
            argv=(
                str(place.node),
                _heap(place),
                str(START),
                str(place.install / self.package.entry),
                *_FLAGS,
                *("--extension", str(home / PROMPT_EXTENSION.name)),
                *_tool_flags(config, tools, home, has_servers=bool(servers)),
            ),
            env=_environment(config, place, llm),
            cwd=workspace,
            model=model,
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        """pi wants a letter or digit at both ends of an id; others are framed with dots, which our ids never hold."""
        if session is None:
            return ("--no-session",)
        plain = session[0].isalnum() and session[-1].isalnum()
        return ("--session-id", session if plain else f"x.{session}.x")

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return PiDriver(process, model=launch.model)

    def _tools(self, config: PodConfig) -> list[str]:
        chosen = config.toolsets or self.safe_toolsets
        return list(dict.fromkeys(tool for toolset in chosen for tool in self.toolsets.get(toolset, ())))


def _tool_flags(config: PodConfig, tools: list[str], home: Path, *, has_servers: bool) -> tuple[str, ...]:
    """The tools of MCP servers are known at run time only: with them, what is disabled is listed, not what is not."""
    skills = () if "skills" in (config.toolsets or Pi.safe_toolsets) else ("--no-skills",)
    if has_servers:
        disabled = ",".join(name for name in _BUILT_IN if name not in tools)
        return ("--extension", str(home / MCP_EXTENSION.name), "--exclude-tools", disabled, *skills)
    return ("--tools", ",".join(tools), *skills) if tools else ("--no-tools", *skills)


def _mcp_files(servers: list[dict[str, Any]], home: Path) -> dict[Path, str]:
    """The extension, and the servers with their headers: in a file of the owner's, never in an argument."""
    if not servers:
        return {}
    said = [{name: server.get(name) for name in ("name", "url", "headers")} for server in servers]
    return {
        home / MCP_EXTENSION.name: MCP_EXTENSION.read_text(encoding="utf-8"),
        home / "mcp.json": _json({"servers": said}),
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _model(config: PodConfig) -> tuple[str, str] | None:
    known = _PROVIDERS.get(config.provider or "")
    if not known or not config.model:
        return None
    return (_OWN_SERVER if _speaks_chat_alone(config) else known[0], config.model)


def _speaks_chat_alone(config: PodConfig) -> bool:
    """pi speaks the Responses API with these two, which few model servers but the vendors' own have."""
    return config.own_model_server and config.provider in {"openai", "xai"}


def _endpoint(config: PodConfig, model: tuple[str, str] | None, place: Place, llm: KeyProxy) -> dict[str, Any]:
    """The provider, moved to the key proxy. A model that pi does not know is declared, or pi would take another one."""
    if model is None:
        return {}
    name, ending = _PROVIDERS[config.provider or ""]
    moved: dict[str, Any] = {"baseUrl": f"{llm.url}/llm/{config.provider}{ending}", "apiKey": "$POD_LLM_TOKEN"}
    if model[0] == _OWN_SERVER:
        plain = {"id": model[1], "compat": {**_NO_HISTORY_OF_CHANGES, **_PLAIN_CHAT}}
        return {_OWN_SERVER: {**moved, "api": "openai-completions", "models": [plain]}}
    if model[1] in _known_models(place.install, name):
        moved["modelOverrides"] = {model[1]: {"compat": _NO_HISTORY_OF_CHANGES}}
    else:
        moved["models"] = [{"id": model[1]}]
    return {name: moved}


@functools.cache
def _known_models(install: Path, provider: str) -> frozenset[str]:
    """The model ids of pi's own catalogue, which is sorted by protocol."""
    catalog = json.loads((install / _CATALOG / f"{provider}.json").read_text(encoding="utf-8"))
    return frozenset(model for protocol in catalog.values() for model in protocol)


def _heap(place: Place) -> str:
    """V8 does not see a container's limit: half of the tier's memory, so that tools have room."""
    return f"--max-old-space-size={min(max(place.memory_bytes >> 21, 192), 1024)}"


def _environment(config: PodConfig, place: Place, llm: KeyProxy) -> dict[str, str]:
    """Nothing of ours is inherited: the engine sees this and no more."""
    machine = _MACHINES.get(platform.machine(), platform.machine())
    search = place.install / _MODULES / "@vscode" / f"ripgrep-linux-{machine}" / "bin"
    return {
        "PATH": f"{search}:{place.node.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place.data / "home"),
        "TMPDIR": str(place.data / "tmp"),
        "LANG": "C.UTF-8",
        "TZ": config.timezone or "UTC",
        "PI_CODING_AGENT_DIR": str(place.data / "pi"),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "POD_LLM_TOKEN": llm.token,
    }


PI = Pi()
