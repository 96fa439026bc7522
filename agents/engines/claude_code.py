"""The engine claude-code: its command line, the tools of each toolset, and its permissions.
It speaks only Anthropic's protocol, with the vendor or with an operator's server that uses the same protocol. No person
can be asked for a permission. So everything that the chosen toolsets need is allowed, and all other tools are not
offered.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from agents.engines.base import Driver, EnginePlace, Launch, NpmPackage, Processes, ProxyAccess, Stores, mcp_servers
from agents.engines.claude_code_stream import ClaudeCodeDriver
from agents.engines.persona import persona_text
from agents.engines.rendering import environment
from agents.runtimes.base import PodConfig

VERSION = "2.1.329"
_PROVIDER = "anthropic"
_PROGRAMS = {"x86_64": "claude-code-linux-x64", "aarch64": "claude-code-linux-arm64"}
# Its conversations have UUIDs as names. Ours are made in this namespace.
_SESSIONS = UUID("5f1a3a54-6b0c-4a7e-9d52-7b0c1d7a2f11")
# It deletes old conversations after this many days; its default is 30.
_KEPT_DAYS = 36_500
_FLAGS = (
    *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
    "--include-partial-messages",
    *("--permission-mode", "dontAsk"),
    # Render the system prompt at each start. Otherwise a conversation would keep its first persona text.
    *("--system-prompt-snapshot", "off"),
    # Read the owner's skills only, not files that the agent writes into its workspace.
    *("--setting-sources", "user"),
    "--strict-mcp-config",
)
# These settings have priority over all settings files that the agent could write.
_SETTINGS: dict[str, Any] = {
    "attribution": {"commit": "", "pr": ""},
    "cleanupPeriodDays": _KEPT_DAYS,
    "disableAllHooks": True,
    "enabledPlugins": {f"cc-plugin-{name}@builtin": False for name in ("agents-md", "plugin-authoring", "privacy")},
    "skipWebFetchPreflight": True,  # the check would ask the vendor about each host
}
_ON = (
    "CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES",
    # the end of a background task would start a turn that nobody asked for
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
    "CLAUDE_CODE_DISABLE_CLAUDE_CODE_SKILL",
    "CLAUDE_CODE_DISABLE_CRON",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY",
    "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS",  # `@path` in a message: it would read the file without using the tool
    "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS",
    "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP",
    "CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
    "CLAUDE_CODE_DISABLE_WORKFLOWS",
    "CLAUDE_CODE_NO_MODEL_FALLBACK",
    "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS",
    "DISABLE_AUTOUPDATER",
    "DISABLE_COST_WARNINGS",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_GROWTHBOOK",
    "DISABLE_INSTALLATION_CHECKS",
    "DISABLE_TELEMETRY",
    "DISABLE_UPDATES",
)
_OFF = {
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",  # would add a line with version and origin before the system prompt
    "CLAUDE_CODE_ENABLE_TASKS": "0",  # otherwise several tools replace TodoWrite
    "CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off",
    "ENABLE_TOOL_SEARCH": "false",  # would hide most tools behind a search
}
# For each model size that it may want, it must use this model, because the key proxy allows no other.
_MODELS = (
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
)
_MODEL_RETRIES = 2
# A start waits this long for an MCP server; a server that is silent for longer is left out. Tool calls may take longer,
# because a peer needs time to answer.
_MCP_MILLISECONDS = {"MCP_TIMEOUT": 8_000, "MCP_TOOL_TIMEOUT": 95_000}
_HELPER = {
    "description": "Does a piece of work by itself and reports what came of it.",
    "prompt": "You are given a piece of work. Do it with the tools you have, then report what came of it.",
}
_MEMORY = """\
You have a memory that lasts beyond this conversation: the directory {place}. You are shown its MEMORY.md at the
beginning of each conversation. Write down there, or in another Markdown file that MEMORY.md names, what you will want
to know again: facts about your owner, preferences, decisions. Keep it short and true, and change what is no longer so.
"""


class ClaudeCode:
    id = "claude-code"
    processes = Processes.PER_CONVERSATION
    package = NpmPackage(
        name="@anthropic-ai/claude-code",
        version=VERSION,
        recipe=Path(__file__).parent / "npm" / "claude-code",
        entry=Path(
            "node_modules", "@anthropic-ai", _PROGRAMS.get(platform.machine(), "claude-code-for-this-machine"), "claude"
        ),
        native=True,
    )
    providers = frozenset({_PROVIDER})
    toolsets: Mapping[str, tuple[str, ...]] = {
        "web": ("WebFetch", "WebSearch"),
        "search": ("WebSearch",),
        "file": ("Read", "Glob", "Grep", "Edit", "Write"),
        "terminal": ("Bash",),
        "vision": ("Read",),
        "memory": ("Read", "Edit", "Write"),
        "todo": ("TodoWrite",),
        "skills": ("Skill",),
        "delegation": ("Agent",),
    }
    safe_toolsets: tuple[str, ...] = ("web", "file", "vision", "memory", "todo", "skills")
    mcp_stdio = True
    stores = Stores(
        skills=("claude/skills",),
        memories=("claude/memory",),
        sessions="claude/projects",
        # the files of helper agents are in directories below
        session_files="????????-????-????-????-????????????.jsonl",
        left_out=(
            "claude/*.json",
            "claude/soul.md",
            "claude/backups",
            "claude/cache",
            "claude/debug",
            "claude/plugins",
            "claude/session-env",
            "claude/sessions",
            "claude/shell-snapshots",
            "home/.cache",
            "home/.npm",
        ),
    )
    megabytes_per_process = 256
    noise = "[claude-code:unrecognized_model]"  # logged for each model that is newer than this version

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """Persona text, model, tools and servers are read at the start of a process."""
        home, workspace = place.data / "claude", place.data / "workspace"
        chosen = config.toolsets or self.safe_toolsets
        servers = mcp_servers(config, llm)
        return Launch(
            files={home / "soul.md": _soul(config, chosen, home), home / "mcp.json": _json(_mcp(servers))},
            directories=(home, home / "memory", workspace, place.data / "home", place.data / "tmp"),
            argv=(
                str(place.install / self.package.entry),
                *_FLAGS,
                *("--system-prompt-file", str(home / "soul.md")),
                *("--mcp-config", str(home / "mcp.json")),
                *("--tools", ",".join(self._tools(config, chosen))),
                *("--settings", _json(_settings(chosen, servers, place.data, self._tools(config, chosen)))),
                *("--agents", _json({"helper": _HELPER})),
                *(("--model", config.model) if _is_asked(config) and config.model else ()),
            ),
            env=_environment(config, chosen, place, llm),
            cwd=workspace,
            model=(_PROVIDER, config.model) if _is_asked(config) and config.model else None,
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        """The arguments that start or continue a conversation. A process that was killed before its first message
        leaves a file which can neither be started nor continued; then the conversation gets another name.
        """
        if session is None:
            return ("--no-session-persistence",)
        for attempt in itertools.count():
            name = str(uuid5(_SESSIONS, f"{session}.{attempt}" if attempt else session))
            found = sorted(Path(launch.env["CLAUDE_CONFIG_DIR"], "projects").glob(f"*/{name}.jsonl"))
            if not found:
                return ("--session-id", name)
            if _was_begun(found[0]):
                return ("--resume", str(found[0]))
        raise AssertionError

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return ClaudeCodeDriver(process, model=launch.model[1] if launch.model else None)

    def _tools(self, config: PodConfig, chosen: tuple[str, ...] | list[str]) -> list[str]:
        """The tools of the chosen toolsets. The vendor runs the web search itself; an operator's server cannot."""
        tools = dict.fromkeys(tool for toolset in chosen for tool in self.toolsets.get(toolset, ()))
        return [tool for tool in tools if not (tool == "WebSearch" and config.own_model_server)]


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _is_asked(config: PodConfig) -> bool:
    return config.provider == _PROVIDER and bool(config.model)


def _soul(config: PodConfig, chosen: tuple[str, ...] | list[str], home: Path) -> str:
    memory = "\n" + _MEMORY.format(place=home / "memory") if "memory" in chosen else ""
    return persona_text(config) + memory


def _settings(
    chosen: tuple[str, ...] | list[str], servers: list[dict[str, Any]], data: Path, tools: list[str]
) -> dict[str, Any]:
    """File tools may use the workspace, and the directories of skills and memory. With a shell this is
    no real limit.
    """
    has_shell = "Bash" in tools
    within = [
        *(["workspace"] if {"file", "vision"} & set(chosen) else []),
        *(["claude/memory"] if "memory" in chosen else []),
        *(["claude/skills"] if {"file", "skills"} <= set(chosen) else []),
    ]
    places = [f"{verb}(/{data / place}/**)" for place in within for verb in ("Read", "Edit")]
    of_files = {"Read", "Glob", "Grep", "Edit", "Write"}
    named = tools if has_shell else [tool for tool in tools if tool not in of_files]
    allowed = [*named, *places, *(f"mcp__{server['name']}" for server in servers)]
    return {
        **_SETTINGS,
        "autoMemoryDirectory": str(data / "claude" / "memory"),
        "disableSkillShellExecution": not has_shell,
        "permissions": {"allow": allowed},
    }


def _mcp(servers: list[dict[str, Any]]) -> dict[str, Any]:
    """Headers and environments of MCP servers are secrets, so they are in a file that only its owner can read, never in
    an argument.
    """
    return {"mcpServers": {server["name"]: _server(server) for server in servers}}


def _server(server: Mapping[str, Any]) -> dict[str, Any]:
    if server.get("url"):
        return {"type": "http", "url": server["url"], "headers": server.get("headers") or {}}
    return {"command": server["command"], "args": server.get("args") or [], "env": server.get("env") or {}}


def _was_begun(transcript: Path) -> bool:
    with transcript.open("rb") as lines:
        return any(b'"type":"user"' in line or b'"type":"assistant"' in line for line in lines)


def _environment(
    config: PodConfig, chosen: tuple[str, ...] | list[str], place: EnginePlace, llm: ProxyAccess
) -> dict[str, str]:
    return {
        **environment(config, place),
        "CLAUDE_CONFIG_DIR": str(place.data / "claude"),
        # Makes its garbage collector behave as on a machine with this memory size.
        "BUN_JSC_forceRAMSize": str(place.memory_bytes >> 2),
        "ANTHROPIC_BASE_URL": f"{llm.url}/llm/{_PROVIDER}",
        "ANTHROPIC_AUTH_TOKEN": llm.token,
        "CLAUDE_CODE_MAX_RETRIES": str(_MODEL_RETRIES),
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0" if "memory" in chosen else "1",
        **dict.fromkeys(_ON, "1"),
        **_OFF,
        **{name: str(milliseconds) for name, milliseconds in _MCP_MILLISECONDS.items()},
        "MCP_CONNECTION_NONBLOCKING": "0",
        # Other servers know the official protocol, but not the vendor's experiments.
        **({"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"} if config.own_model_server else {}),
        **(dict.fromkeys(_MODELS, config.model) if _is_asked(config) and config.model else {}),
    }


CLAUDE_CODE = ClaudeCode()
