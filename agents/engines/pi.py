"""The engine pi: its command line, the files that it reads, and the tools of each toolset."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines.base import Driver, EnginePlace, Launch, NpmPackage, Processes, ProxyAccess, Stores, mcp_servers
from agents.engines.persona import persona_text
from agents.engines.pi_rpc import PiDriver
from agents.engines.rendering import chosen_model, environment, heap, json_file
from agents.runtimes.base import PodConfig

VERSION = "0.87.1"
_MODULES = Path("node_modules")
_PI = _MODULES / "@earendil-works" / "pi-coding-agent"
_CATALOG = _MODULES / "@earendil-works" / "pi-ai" / "dist" / "providers" / "data"
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}

# Our provider id, with pi's own id and the end of the base URL that pi needs.
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
# Our extensions. pi itself has no MCP, and it would tell the model its directory on this machine.
MCP_EXTENSION = Path(__file__).with_name("pi_mcp.ts")
PROMPT_EXTENSION = Path(__file__).with_name("pi_prompt.cjs")
# This program corrects the paths first: pi finds a conversation by the path of the workspace.
START = Path(__file__).with_name("pi_start.mjs")
# Our provider id for an operator's own model server.
_OWN_SERVER = "pod"
# Settings that all such servers accept: the oldest form of chat completions.
_PLAIN_CHAT = {
    "supportsStore": False,
    "supportsDeveloperRole": False,
    "supportsReasoningEffort": False,
    "supportsStrictMode": False,
    "maxTokensField": "max_tokens",
}
# No prompt templates, no context files, and no extensions other than ours: pi would also search for them in the
# directories above the workspace.
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
# Some models accept changes in the middle of a conversation. For these, pi would keep sending the old persona text and
# tools, and the change after them, so that a disabled tool would still be offered. With these settings pi sends only
# the current ones.
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
    # pi's `find` is left out: it needs a program that no package registry has, and `ls` and `grep` are enough.
    toolsets: Mapping[str, tuple[str, ...]] = {
        "file": ("read", "ls", "grep", "edit", "write"),
        "terminal": ("bash",),
        "skills": ("read",),
    }
    safe_toolsets: tuple[str, ...] = ("file", "skills")
    mcp_stdio = False  # our extension uses HTTP
    stores = Stores(
        skills=("pi/skills", "home/.agents/skills"),
        sessions="pi/sessions",
        session_files="*.jsonl",
        left_out=("pi/*.json", "pi/*.md", "pi/*.ts", "pi/*.cjs", "home/.cache", "home/.npm"),
    )
    megabytes_per_process = 144
    noise = "Warning: No project session found"  # logged at the start of each conversation

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """pi reads persona text, model list and settings only at its start; tools are flags."""
        home = place.data / "pi"
        model = chosen_model(config, _PROVIDERS, own_server=_OWN_SERVER)
        tools = self._tools(config)
        servers = mcp_servers(config, llm)
        settings = {**_SETTINGS, **({"defaultProvider": model[0], "defaultModel": model[1]} if model else {})}
        files = {
            home / "settings.json": json_file({**settings, "defaultTools": tools}),
            home / "models.json": json_file({"providers": _endpoint(config, model, place, llm)}),
            home / "SYSTEM.md": persona_text(config),  # replaces pi's own text, which is about programming
            home / "APPEND_SYSTEM.md": "",  # empty, because an older release put the persona text here
            home / PROMPT_EXTENSION.name: PROMPT_EXTENSION.read_text(encoding="utf-8"),
            **_mcp_files(servers, home),
        }
        workspace = place.data / "workspace"
        return Launch(
            files=files,
            directories=(home, workspace, place.data / "home", place.data / "tmp"),
            argv=(
                str(place.node),
                heap(place, least=192, most=1024),
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
        """The flags for the session's id. pi needs a letter or digit at both ends of an id. Other ids get `x.` and `.x`
        around them; our ids never contain a dot.
        """
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
    """The flags for tools. With MCP servers the disabled tools are listed, because the servers' tools are known only at
    run time; otherwise the enabled tools are listed.
    """
    skills = () if "skills" in (config.toolsets or Pi.safe_toolsets) else ("--no-skills",)
    if has_servers:
        disabled = ",".join(name for name in _BUILT_IN if name not in tools)
        return ("--extension", str(home / MCP_EXTENSION.name), "--exclude-tools", disabled, *skills)
    return ("--tools", ",".join(tools), *skills) if tools else ("--no-tools", *skills)


def _mcp_files(servers: list[dict[str, Any]], home: Path) -> dict[Path, str]:
    """The MCP extension and the list of servers. Their headers are secrets, so they are in a file that only its owner
    can read, never in an argument.
    """
    if not servers:
        return {}
    said = [{name: server.get(name) for name in ("name", "url", "headers")} for server in servers]
    return {
        home / MCP_EXTENSION.name: MCP_EXTENSION.read_text(encoding="utf-8"),
        home / "mcp.json": json_file({"servers": said}),
    }


def _endpoint(config: PodConfig, model: tuple[str, str] | None, place: EnginePlace, llm: ProxyAccess) -> dict[str, Any]:
    """The provider's settings, with the key proxy's address. A model that pi does not know is declared here; otherwise
    pi would use another model.
    """
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
    """The model ids of pi's own catalogue, which is grouped by protocol."""
    catalog = json.loads((install / _CATALOG / f"{provider}.json").read_text(encoding="utf-8"))
    return frozenset(model for protocol in catalog.values() for model in protocol)


def _environment(config: PodConfig, place: EnginePlace, llm: ProxyAccess) -> dict[str, str]:
    machine = _MACHINES.get(platform.machine(), platform.machine())
    search = place.install / _MODULES / "@vscode" / f"ripgrep-linux-{machine}" / "bin"
    return {
        **environment(config, place, search),
        **_compiled(place),
        "PI_CODING_AGENT_DIR": str(place.data / "pi"),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "POD_LLM_TOKEN": llm.token,
    }


def _compiled(place: EnginePlace) -> dict[str, str]:
    """Where Node.js keeps the compiled program, for all agents: pi alone would compile it anew for each one. An image
    cannot be written to, and each agent there keeps its own in its directory.
    """
    return {"NODE_COMPILE_CACHE": str(place.install / ".compiled")} if os.access(place.install, os.W_OK) else {}


PI = Pi()
