"""The smallest complete engine package: its description for Agentpods, and the driver that talks to the engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agents.engines.base import (
    Driver,
    EngineError,
    EnginePlace,
    Launch,
    ModelError,
    Processes,
    ProxyAccess,
    ShippedProgram,
    Stores,
    Turns,
)
from agents.engines.http import HttpDriver
from agents.engines.packages import EnginePackage
from agents.engines.persona import persona_text
from agents.runtimes.base import PodConfig

# The path between the key proxy's address of a provider and `/chat/completions`.
PROVIDERS = {
    "openai": "/v1",
    "openrouter": "/api/v1",
    "google": "/v1beta/openai",
    "gemini": "/v1beta/openai",
    "groq": "/openai/v1",
    "mistral": "/v1",
    "deepseek": "",
    "xai": "/v1",
}


class Minimal:
    id = "minimal"
    processes = Processes.ONE_SERVER
    package = ShippedProgram(
        name="agentpods-minimal", version="1.0.0", recipe=Path(__file__).parent / "program", entry=Path("server.mjs")
    )
    providers = frozenset(PROVIDERS)
    toolsets: Mapping[str, tuple[str, ...]] = {}
    safe_toolsets: tuple[str, ...] = ()
    mcp_stdio = False
    stores = Stores(sessions="minimal/sessions", session_files="*.jsonl", left_out=("minimal/settings.json",))
    megabytes_per_process = 64
    noise = ""

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """The settings are a live file: the engine reads them at each turn, so a change needs no restart."""
        home = place.data / "minimal"
        settings = {
            "soul": persona_text(config),
            "name": config.model,
            "url": f"{llm.url}/llm/{config.provider}{PROVIDERS.get(config.provider or '', '')}",
        }
        return Launch(
            files={},
            live_files={home / "settings.json": json.dumps(settings, indent=1)},
            directories=(home / "sessions",),
            argv=(str(place.node), str(place.install / self.package.entry)),
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "MINIMAL_HOME": str(home),
                "MINIMAL_PORT": str(place.port),
                "MINIMAL_PASSWORD": place.password,
                "POD_LLM_TOKEN": llm.token,
            },
            cwd=home,
            model=None,
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return MinimalDriver(process, port=int(launch.env["MINIMAL_PORT"]), password=launch.env["MINIMAL_PASSWORD"])


class MinimalDriver(HttpDriver):
    def __init__(self, process: asyncio.subprocess.Process, *, port: int, password: str) -> None:
        headers = {"Authorization": f"Bearer {password}"}
        super().__init__(process, base_url=f"http://127.0.0.1:{port}", health="/health", headers=headers)

    def conversation(self, session: str) -> Turns:
        return Conversation(self, session)

    async def wind_down(self) -> None:
        """The engine stops at once, also in the middle of a turn."""

    async def lines(self, session: str, message: str) -> AsyncGenerator[dict[str, Any], None]:
        async with aclosing(self._while_alive(self._asked(session, message))) as lines:
            async for line in lines:
                yield line

    async def _asked(self, session: str, message: str) -> AsyncGenerator[dict[str, Any], None]:
        async with self._session.post("/turn", json={"session": session, "message": message}) as answer:
            rest = b""  # the rest of a line, because a line may be longer than the buffer
            async for chunk in answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)

    def _says_healthy(self, body: bytes) -> bool:
        return b'"minimal"' in body


class Conversation:
    def __init__(self, driver: MinimalDriver, session: str) -> None:
        self._driver = driver
        self._session = session
        self._text = ""

    async def turn(self, message: str) -> AsyncGenerator[str, None]:
        self._text = ""
        async with aclosing(self._driver.lines(self._session, message)) as lines:
            async for line in lines:
                if line.get("failed"):
                    raise ModelError(line["failed"])
                if line.get("done"):
                    return
                self._text += line["text"]
                yield line["text"]
        raise EngineError("the engine broke off in the middle of the turn")

    def reply(self) -> str:
        return self._text


PACKAGE = EnginePackage(
    engine=Minimal(),
    # A model for each provider, and the path at which the provider's server must see the request.
    conformance={
        "paths": {
            "openai": ("gpt-5", "/v1/chat/completions"),
            "openrouter": ("openai/gpt-oss-120b", "/api/v1/chat/completions"),
            "google": ("gemini-2.5-flash", "/v1beta/openai/chat/completions"),
            "gemini": ("gemini-2.5-flash", "/v1beta/openai/chat/completions"),
            "groq": ("openai/gpt-oss-20b", "/openai/v1/chat/completions"),
            "mistral": ("mistral-small-latest", "/v1/chat/completions"),
            "deepseek": ("deepseek-v4-pro", "/chat/completions"),
            "xai": ("grok-4.3", "/v1/chat/completions"),
        },
        "second": ("groq", "openai/gpt-oss-20b"),
        "kept": "tts",  # a toolset for which this engine has no tools
        "takes_servers": False,
    },
    row={
        "label": "Minimal",
        "description": "Conversations with a model and nothing else: an example of an engine.",
        "min_tier": "tiny",
        "status": "beta",
        "skills": False,
        "mcp": False,
        "skill_registry": False,
        "skill_uninstall": False,
        "llm_key": True,
        "model": True,
        "sso": False,
        "dash_credentials": False,
        "llm_providers": list(PROVIDERS),
        "channels": ["web"],
        "toolsets": ["a2a"],
    },
)
