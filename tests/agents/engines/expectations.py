"""What the conformance suite must know of each engine: its tools by name, and what a provider gets from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.engines import PACKAGES
from tests.doubles.model_protocols import Protocol, Seen

if TYPE_CHECKING:
    from tests.agents.engines.conftest import Pod


@dataclass(frozen=True, kw_only=True)
class Expected:
    paths: dict[str, tuple[str, str]]  # provider: a model that the engine knows, and where its request must arrive
    exec: tuple[str, str, str] | None = None  # the toolset that runs commands, its tool, the argument with the command
    search: tuple[str, str] | None = None  # the tool that searches files for a text, and the argument with the pattern
    fetch: tuple[str, str, str] | None = None  # of an engine without the first: toolset, tool, argument with an address
    kept: str = "file"  # a toolset beside that one; one that the engine has no tools of, where it has no other
    processes: int = 1  # that one engine consists of
    # What else a search is told, to show the text that it finds.
    search_for_text: dict[str, str] = field(default_factory=dict)
    start: tuple[str, str] = ("openai", "gpt-6-luna")  # the provider and model that a test begins with
    models: tuple[str, str] = ("gpt-5", "gpt-5-mini")  # two of this provider that it knows
    second: tuple[str, str] = ("anthropic", "claude-opus-5-5")  # another provider and a model of it, where it has it
    # Models of each kind of protocol that it speaks: some are told of a change of their tools in another way.
    told_of_tools: tuple[tuple[str, str], ...] = (("openai", "gpt-5.6-luna"), ("anthropic", "claude-opus-5-5"))
    # What a server of the operator's in the place of this provider speaks, and nothing else.
    own_servers: dict[str, Protocol] = field(default_factory=lambda: {"openai": Protocol.CHAT, "xai": Protocol.CHAT})
    asides: str = ""  # pattern of what the engine itself adds to what people say
    mcp: str = "{server}__{tool}"  # what it calls the tool of an MCP server
    system_begins: str = "You are Captain Zorblax."  # the soul
    says_where_it_works: bool = False  # its tools take absolute paths, so it names the agent's own directory
    has_helpers: bool = False  # its one server starts processes of its own
    either: frozenset[str] = frozenset()  # tools for one purpose, of which a model is offered those that suit it

    takes_servers: bool = True  # MCP servers

    @property
    def can_act(self) -> bool:
        """Whether it has a tool of its own that does something."""
        return bool(self.exec or self.fetch)

    @property
    def deed(self) -> tuple[str, str, str]:
        """The toolset, tool and argument of something that is really done: a command, or else a page that is got."""
        known = self.exec or self.fetch
        assert known
        return known

    def whole(self, offered: set[str]) -> set[str]:
        """What was offered, and what was left out for the sake of the model alone."""
        return offered | self.either if offered & self.either else offered

    @property
    def another(self) -> tuple[str, str] | None:
        """A provider that it can change to, and a model of it; None for an engine that has one provider alone."""
        known = [(provider, model) for provider, (model, _) in self.paths.items()]
        wanted = [self.second, *known] if self.second[0] in self.paths else known
        return next((one for one in wanted if one[0] != self.start[0]), None)

    @property
    def servers(self) -> dict[str, Protocol]:
        """What a server of the operator's speaks in the place of each of its providers that are tried so."""
        return {provider: protocol for provider, protocol in self.own_servers.items() if provider in self.paths}

    def said(self, seen: Seen) -> list[str]:
        """What people and agent said, without what the engine tells the model beside it."""
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
    # Where it works, the date, and which skills and helpers there are.
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
    # On a channel: who writes, when, and what the message's number is.
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
    processes=2,  # the second runs the code of its owner's workflows
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


def expected(pod: Pod) -> Expected:
    return EXPECTED[pod.engine.id]
