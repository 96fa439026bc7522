"""What the conformance suite must know of each engine: its tools by name, and what a provider gets from it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.agents.engines.conftest import Pod


@dataclass(frozen=True, kw_only=True)
class Expected:
    paths: dict[str, tuple[str, str]]  # provider: a model that the engine knows, and where its request must arrive
    exec: tuple[str, str, str] | None = None  # the toolset that runs commands, its tool, the argument with the command
    search: tuple[str, str] | None = None  # the tool that searches files for a text, and the argument with the pattern
    fetch: tuple[str, str, str] | None = None  # of an engine without the first: toolset, tool, argument with an address
    kept: str = "file"  # a toolset beside that one; one that the engine has no tools of, where it has no other
    processes: int = 1  # that one engine consists of
    mcp: str = "{server}__{tool}"  # what it calls the tool of an MCP server
    system_begins: str = "You are Captain Zorblax."  # the soul
    says_where_it_works: bool = False  # its tools take absolute paths, so it names the agent's own directory
    either: frozenset[str] = frozenset()  # tools for one purpose, of which a model is offered those that suit it

    @property
    def deed(self) -> tuple[str, str, str]:
        """The toolset, tool and argument of something that is really done: a command, or else a page that is got."""
        known = self.exec or self.fetch
        assert known
        return known

    def whole(self, offered: set[str]) -> set[str]:
        """What was offered, and what was left out for the sake of the model alone."""
        return offered | self.either if offered & self.either else offered


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

EXPECTED = {"pi": PI, "hermes": HERMES, "opencode": OPENCODE, "n8n": N8N}
# Those whose tools work on the agent's own machine and files; the others have none that could.
WITH_EXEC = sorted(name for name, known in EXPECTED.items() if known.exec)
WITH_SEARCH = sorted(name for name, known in EXPECTED.items() if known.search)
WITH_FETCH = sorted(name for name, known in EXPECTED.items() if known.fetch)


def expected(pod: Pod) -> Expected:
    return EXPECTED[pod.engine.id]
