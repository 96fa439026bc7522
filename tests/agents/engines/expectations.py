"""The facts about each engine that the conformance suite needs: its tools by name, and the requests to providers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.engines import PACKAGES
from tests.doubles.model_protocols import Protocol, Seen

if TYPE_CHECKING:
    from tests.agents.engines.conftest import EnginePod

WITHOUT_TOOLS = "stt"  # a toolset for which no engine has a tool; hermes hears voice messages with it


@dataclass(frozen=True, kw_only=True)
class Expected:
    paths: dict[str, tuple[str, str]]  # provider: a model that the engine knows, and the path of its request
    exec: tuple[str, str, str] | None = None  # toolset that runs commands, its tool, the argument with the command
    search: tuple[str, str] | None = None  # the tool that searches files for a text, and the argument with the pattern
    fetch: tuple[str, str, str] | None = None  # if the engine runs no commands: toolset, tool, argument with an address
    kept: str = "file"  # a second toolset; if the engine has no other, one for which it has no tools
    processes: int = 1  # how many processes one engine has
    # More arguments for a search, so that its result shows the found text.
    search_for_text: dict[str, str] = field(default_factory=dict)
    start: tuple[str, str] = ("openai", "gpt-6-luna")  # the provider and model at the start of a test
    models: tuple[str, str] = ("gpt-5", "gpt-5-mini")  # two models of this provider that the engine knows
    second: tuple[str, str] = ("anthropic", "claude-opus-5-5")  # another provider and its model, if the engine has one
    # One model for each protocol of the engine, because the engine may tell them of changed tools in different ways.
    told_of_tools: tuple[tuple[str, str], ...] = (("openai", "gpt-5.6-luna"), ("anthropic", "claude-opus-5-5"))
    # The only protocol of an operator's own server that replaces this provider.
    own_servers: dict[str, Protocol] = field(default_factory=lambda: {"openai": Protocol.CHAT, "xai": Protocol.CHAT})
    asides: str = ""  # a pattern for texts that the engine adds to the words of people
    mcp: str = "{server}__{tool}"  # the engine's name for a tool of an MCP server
    system_begins: str = "You are Captain Zorblax."  # the soul
    says_where_it_works: bool = False  # its tools take absolute paths, so it tells the model the agent's directory
    has_helpers: bool = False  # its one server starts more processes
    either: frozenset[str] = frozenset()  # alternatives: the engine offers those that suit the model

    takes_servers: bool = True  # it takes MCP servers

    @property
    def can_act(self) -> bool:
        """Whether the engine has a tool that really does something."""
        return bool(self.exec or self.fetch)

    @property
    def deed(self) -> tuple[str, str, str]:
        """Toolset, tool and argument of something that is really done: a command, or else a page that is fetched."""
        known = self.exec or self.fetch
        assert known
        return known

    def whole(self, offered: set[str]) -> set[str]:
        """The offered tools, with the alternatives that were only left out because of the model."""
        return offered | self.either if offered & self.either else offered

    @property
    def another(self) -> tuple[str, str] | None:
        """Another provider that the engine can change to, with a model. None if the engine has only one provider."""
        known = [(provider, model) for provider, (model, _) in self.paths.items()]
        wanted = [self.second, *known] if self.second[0] in self.paths else known
        return next((one for one in wanted if one[0] != self.start[0]), None)

    @property
    def servers(self) -> dict[str, Protocol]:
        """The tested providers that an operator's own server can replace, each with the protocol of this server."""
        return {provider: protocol for provider, protocol in self.own_servers.items() if provider in self.paths}

    def said(self, seen: Seen) -> list[str]:
        """The words of people and agent, without the texts that the engine adds for the model."""
        return [re.sub(self.asides, "", text, flags=re.DOTALL) if self.asides else text for _, text in seen.said]


PI = Expected(
    paths={
        "openai": ("gpt-5", "/v1/responses"),
        "anthropic": ("claude-sonnet-4-5", "/v1/messages"),
        "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
        "google": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "gemini": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
        "mistral": ("mistral-small-latest", "/v1/chat/completions"),
        "deepseek": ("deepseek-v4-pro", "/chat/completions"),
        "xai": ("grok-4.3", "/v1/responses"),
    },
    exec=("terminal", "bash", "command"),
    search=("grep", "pattern"),
)

HERMES = Expected(
    paths={
        "openai": ("gpt-5", "/v1/chat/completions"),
        "anthropic": ("claude-sonnet-4-5", "/v1/messages"),
        "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
        "google": ("gemini-2.5-flash", "/v1beta/openai/chat/completions"),
        "gemini": ("gemini-2.5-flash", "/v1beta/openai/chat/completions"),
        "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
        "mistral": ("mistral-small-latest", "/v1/chat/completions"),
        "deepseek": ("deepseek-v4-pro", "/chat/completions"),
        "xai": ("grok-4.3", "/v1/chat/completions"),
    },
    exec=("terminal", "terminal", "command"),
    search=("search_files", "pattern"),
    says_where_it_works=True,
)

OPENCODE = Expected(
    paths={
        "openai": ("gpt-5", "/v1/responses"),
        "anthropic": ("claude-sonnet-4-5", "/v1/messages"),
        "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
        "google": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "gemini": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
        "mistral": ("mistral-small-latest", "/v1/chat/completions"),
        "deepseek": ("deepseek-v4-pro", "/chat/completions"),
        "xai": ("grok-4.3", "/v1/responses"),
    },
    exec=("terminal", "bash", "command"),
    search=("grep", "pattern"),
    system_begins="You are an assistant. The instructions below say who you are; follow them.",
    says_where_it_works=True,
    either=frozenset({"edit", "write", "apply_patch"}),
)

CLAUDE_CODE = Expected(
    paths={"anthropic": ("claude-sonnet-4-5", "/v1/messages")},
    exec=("terminal", "Bash", "command"),
    search=("Grep", "pattern"),
    search_for_text={"output_mode": "content"},
    start=("anthropic", "claude-haiku-4-5"),
    models=("claude-sonnet-4-5", "claude-opus-5-5"),
    told_of_tools=(("anthropic", "claude-sonnet-4-5"), ("anthropic", "claude-opus-5-5")),
    own_servers={"anthropic": Protocol.MESSAGES},
    mcp="mcp__{server}__{tool}",
    system_begins="You are a Claude agent, built on Anthropic's Claude Agent SDK.\nYou are Captain Zorblax.",
    says_where_it_works=True,
    # The engine's directory, the date, and the skills and helpers that there are.
    asides=r"<system-reminder>.*?</system-reminder>\s*",
)

OPENCLAW = Expected(
    paths={
        "openai": ("gpt-5", "/v1/responses"),
        "anthropic": ("claude-sonnet-4-5", "/v1/messages"),
        "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
        "google": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "gemini": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
        "mistral": ("mistral-small-latest", "/v1/chat/completions"),
        "deepseek": ("deepseek-v4-pro", "/chat/completions"),
        "xai": ("grok-4.3", "/v1/chat/completions"),
    },
    exec=("terminal", "exec", "command"),
    search=("grep", "pattern"),
    has_helpers=True,
    # On a channel: the writer, the time and the number of the message.
    asides=(
        r"Conversation info: \S+\s+```json.*?```\s*"
        r"|<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
    ),
)

N8N = Expected(
    paths={
        "openai": ("gpt-5", "/v1/chat/completions"),
        "anthropic": ("claude-sonnet-4-5", "/v1/messages"),
        "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
        "google": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "gemini": ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:streamGenerateContent"),
        "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
        "mistral": ("mistral-small-latest", "/v1/chat/completions"),
        "deepseek": ("deepseek-v4-pro", "/chat/completions"),
        "xai": ("grok-4.3", "/v1/chat/completions"),
    },
    fetch=("web", "fetch_page", "url"),
    kept="tts",
    processes=2,  # the second process runs the code of the owner's workflows
)

EXPECTED = {
    "pi": PI,
    "hermes": HERMES,
    "opencode": OPENCODE,
    "claude-code": CLAUDE_CODE,
    "openclaw": OPENCLAW,
    "n8n": N8N,
}
EXPECTED |= {engine_id: Expected(**package.conformance) for engine_id, package in PACKAGES.items()}


def expected(pod: EnginePod) -> Expected:
    return EXPECTED[pod.engine.id]
