"""The engine claude-code: what it is called with, which of its tools a toolset means, and what it may do unasked.

It speaks Anthropic's messages alone, to the vendor or to a server of the operator's that speaks them too. Nobody is
there to be asked for a permission: what the chosen toolsets need is allowed, everything else is not offered.
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

from agents.engines.base import Driver, KeyProxy, Launch, NpmPackage, Place, Processes, Stores, mcp_servers
from agents.engines.claude_code_stream import ClaudeCodeDriver
from agents.engines.persona import persona_text
from agents.runtimes.base import PodConfig

VERSION = "2.1.329"
_PROVIDER = "anthropic"
_PROGRAMS = {"x86_64": "claude-code-linux-x64", "aarch64": "claude-code-linux-arm64"}
_NO_PROGRAM = "claude-code-for-this-machine"
# The names of its conversations are UUIDs; ours are in this namespace.
_SESSIONS = UUID("5f1a3a54-6b0c-4a7e-9d52-7b0c1d7a2f11")
# Without a day on which it throws conversations away: it would after 30.
_KEPT_DAYS = 36_500
_FLAGS = (
    *("--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"),
    "--include-partial-messages",
    *("--permission-mode", "dontAsk"),
    # Rendered anew at each start: else a conversation would keep the soul that it began with.
    *("--system-prompt-snapshot", "off"),
    # The owner's skills, and nothing that the agent writes into its workspace.
    *("--setting-sources", "user"),
    "--strict-mcp-config",
)
# It outranks whatever the agent could write into a file of settings.
_SETTINGS: dict[str, Any] = {
    "attribution": {"commit": "", "pr": ""},
    "cleanupPeriodDays": _KEPT_DAYS,
    "disableAllHooks": True,
    "enabledPlugins": {f"cc-plugin-{name}@builtin": False for name in ("agents-md", "plugin-authoring", "privacy")},
    "skipWebFetchPreflight": True,  # would ask the vendor about each host
}
_ON = (
    "CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES",
    # Its end would begin a turn that nobody asked for.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS",
    "CLAUDE_CODE_DISABLE_CLAUDE_CODE_SKILL",
    "CLAUDE_CODE_DISABLE_CRON",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY",
    "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS",  # of `@path` in a message: it would read the file without the tool
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
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",  # a line of version and origin before the soul
    "CLAUDE_CODE_ENABLE_TASKS": "0",  # else several tools take the place of TodoWrite
    "CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off",
    "ENABLE_TOOL_SEARCH": "false",  # it would hide most tools behind a search
}
# Whatever size it thinks that it needs, it asks for this model: the key proxy lets no other through.
_MODELS = (
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
)
_MODEL_RETRIES = 2
# An MCP server that is silent for longer is left out, and the start waits for it; a peer takes its time to answer.
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
        session_files="????????-????-????-????-????????????.jsonl",  # those of whom it delegates to lie below
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
    noise = "[claude-code:unrecognized_model]"  # said of each model that is newer than this version

    def render(self, config: PodConfig, *, place: Place, llm: KeyProxy) -> Launch:
        """Soul, model, tools and servers are taken at the start of a process."""
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
        """A conversation that was killed before its first message left a file that can neither be begun nor gone on
        with: then it has another name."""
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
        """The vendor itself searches; a server of the operator's does not."""
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
    """Files are the workspace, and what skills and memory are made of; a shell gets out of there anyway."""
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
    """With their headers: in a file of the owner's, never in an argument."""
    return {"mcpServers": {server["name"]: _server(server) for server in servers}}


def _server(server: Mapping[str, Any]) -> dict[str, Any]:
    if server.get("url"):
        return {"type": "http", "url": server["url"], "headers": server.get("headers") or {}}
    return {"command": server["command"], "args": server.get("args") or [], "env": server.get("env") or {}}


def _was_begun(transcript: Path) -> bool:
    with transcript.open("rb") as lines:
        return any(b'"type":"user"' in line or b'"type":"assistant"' in line for line in lines)


def _environment(config: PodConfig, chosen: tuple[str, ...] | list[str], place: Place, llm: KeyProxy) -> dict[str, str]:
    """Nothing of ours is inherited: the engine sees this and no more."""
    return {
        "PATH": f"{place.node.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place.data / "home"),
        "TMPDIR": str(place.data / "tmp"),
        "LANG": "C.UTF-8",
        "TZ": config.timezone or "UTC",
        "CLAUDE_CONFIG_DIR": str(place.data / "claude"),
        # Collects garbage as on a machine of this size.
        "BUN_JSC_forceRAMSize": str(place.memory_bytes >> 2),
        "ANTHROPIC_BASE_URL": f"{llm.url}/llm/{_PROVIDER}",
        "ANTHROPIC_AUTH_TOKEN": llm.token,
        "CLAUDE_CODE_MAX_RETRIES": str(_MODEL_RETRIES),
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0" if "memory" in chosen else "1",
        **dict.fromkeys(_ON, "1"),
        **_OFF,
        **{name: str(milliseconds) for name, milliseconds in _MCP_MILLISECONDS.items()},
        "MCP_CONNECTION_NONBLOCKING": "0",
        # Servers that speak the protocol know what is in it, not what the vendor tries out.
        **({"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"} if config.own_model_server else {}),
        **(dict.fromkeys(_MODELS, config.model) if _is_asked(config) and config.model else {}),
    }


CLAUDE_CODE = ClaudeCode()
