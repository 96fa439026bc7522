"""The engine hermes: one server for all conversations and channels. Its whole configuration is rendered
at each start.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.engines import hermes_channels, hermes_tools
from agents.engines.base import (
    Driver,
    EnginePlace,
    Launch,
    Processes,
    ProxyAccess,
    PypiPackage,
    Sidecar,
    Stores,
    mcp_servers,
)
from agents.engines.hermes_http import HermesDriver
from agents.engines.persona import persona_text
from agents.engines.rendering import environment, json_file
from agents.runtimes.base import PodConfig

VERSION = "0.19.0"
RECIPE = Path(__file__).parent / "pypi" / "hermes"
START = Path(__file__).with_name("hermes_start.py")
_MODULE = "hermes_cli.main"

# The path at the end of a provider's base URL, and the protocol. With a provider of this kind, hermes calls only this
# URL.
_CHAT, _MESSAGES = "chat_completions", "anthropic_messages"
_PROVIDERS = {
    "openai": ("/v1", _CHAT),
    "anthropic": ("", _MESSAGES),
    "openrouter": ("/api/v1", _CHAT),
    "google": ("/v1beta/openai", _CHAT),
    "gemini": ("/v1beta/openai", _CHAT),
    "groq": ("/openai/v1", _CHAT),
    "mistral": ("/v1", _CHAT),
    "deepseek": ("", _CHAT),
    "xai": ("/v1", _CHAT),
}
# Without this, hermes would look up a model of unknown size on the internet.
_CONTEXT_TOKENS = 128_000
# More than the bridge ever allows.
_RUNS_AT_ONCE = 32
# Turns end at the bridge's deadline. Until then hermes may try a model call this many times.
_MODEL_TRIES = 3
_PROVIDER = "pod"
# If the machine trusts additional certificate authorities, hermes does too, because people often run their own mail
# servers.
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
# A start waits this long for an MCP server; a server that is silent for longer is left out.
_MCP_SECONDS = 8
# With these settings nothing calls the model or the internet by itself; only messages and schedules do.
_SETTINGS: dict[str, Any] = {
    "_config_version": 33,  # the number that this version writes, so that nothing is migrated
    # The toolset is the permission. The person who talks to the agent is the same who would have to approve a command.
    "approvals": {"mode": "off"},
    "auxiliary": {"title_generation": {"enabled": False}},
    "curator": {"enabled": False},
    "kanban": {"dispatch_in_gateway": False},
    "logging": {"level": "WARNING"},  # otherwise there is a line for each health check
    "lsp": {"enabled": False},
    "memory": {"nudge_interval": 0},
    "model_catalog": {"enabled": False},
    # Its hints for new users describe commands, which visitors of an agent may not use.
    "onboarding": {
        "profile_build": "off",
        "seen": dict.fromkeys(("busy_input_prompt", "tool_progress_prompt", "openclaw_residue_cleanup"), True),
    },
    "security": {"tirith_enabled": False, "allow_lazy_installs": False},
    "skills": {"creation_nudge_interval": 0, "inline_shell": False},
    "updates": {"pre_update_backup": "off"},
}


class Hermes:
    id = "hermes"
    processes = Processes.ONE_SERVER
    package = PypiPackage(name="hermes-agent", version=VERSION, recipe=RECIPE, module=_MODULE)
    providers = frozenset(_PROVIDERS)
    # The toolsets that work with the pod's model, or with the services of agents/engines/tool_services.py.
    toolsets: Mapping[str, tuple[str, ...]] = {
        "web": ("web_search", "web_extract"),
        "search": ("web_search",),
        "file": ("read_file", "write_file", "patch", "search_files"),
        "terminal": ("terminal", "process"),
        "code_execution": ("execute_code",),
        "image_gen": ("image_generate",),
        "tts": ("text_to_speech",),
        "stt": (),  # no tool: this turns voice messages of channels into text
        "memory": ("memory",),
        "session_search": ("session_search",),
        "todo": ("todo",),
        "skills": ("skills_list", "skill_view", "skill_manage"),
        "delegation": ("delegate_task",),
        "cronjob": ("cronjob",),
    }
    safe_toolsets: tuple[str, ...] = ("file", "memory", "session_search", "todo", "skills")
    mcp_stdio = True
    stores = Stores(
        skills=("hermes/skills",),
        memories=("hermes/memories",),
        sessions="hermes",
        session_files="state.db*",  # the newest rows may still be in the log file beside the database
        count="SELECT count(*) FROM sessions WHERE parent_session_id IS NULL",
        left_out=(
            "hermes/config.yaml",
            "hermes/SOUL.md",
            "hermes/prompt-version",
            "hermes/webhook-port",
            # Files about the process that ran when the backup was made.
            "hermes/gateway.lock",
            "hermes/gateway.pid",
            "hermes/gateway_state.json",
            "hermes/cache",
            "hermes/logs",
            "home/.cache",
            "home/.npm",
        ),
    )
    megabytes_per_process = 256
    noise = ""

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """hermes reads files and environment at its start. A changed `prompt-version` makes conversations forget their
        stored prompts.
        """
        home, workspace = place.data / "hermes", place.data / "workspace"
        files = {
            home / "config.yaml": json_file(self._settings(config, workspace, llm)),
            home / "SOUL.md": persona_text(config),
        }
        version = hashlib.sha256("\0".join(files.values()).encode("utf-8", "replace")).hexdigest()
        return Launch(
            files={**files, home / "prompt-version": version},
            directories=(home, workspace, place.data / "home", place.data / "tmp"),
            argv=(_python(place), "-I", str(START), _MODULE, "gateway", "run"),
            env=_environment(config, place, llm),
            cwd=workspace,
            model=(_PROVIDER, config.model) if _is_asked(config) and config.model else None,
            side=_dashboard(config, place) if config.dashboard else None,
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        env = launch.env
        return HermesDriver(
            process,
            port=int(env["API_SERVER_PORT"]),
            key=env["API_SERVER_KEY"],
            home=Path(env["HERMES_HOME"]),
            app_secret=env.get("WHATSAPP_CLOUD_APP_SECRET", ""),
        )

    def _settings(self, config: PodConfig, workspace: Path, llm: ProxyAccess) -> dict[str, Any]:
        """The content of config.yaml. JSON is valid YAML."""
        chosen = _chosen(config)
        platforms = ["api_server", "cron", *hermes_channels.platforms(config)]
        return {
            **_SETTINGS,
            **_model(config, llm),
            "agent": {"api_max_retries": _MODEL_TRIES, "environment_probe": False, "restart_drain_timeout": 0},
            # A message that arrives while a turn runs becomes the next turn and does not end the running one.
            "display": {"language": config.lang, "busy_input_mode": "queue"},
            "gateway": {"api_server": {"max_concurrent_runs": _RUNS_AT_ONCE}},
            # With a prefix, because hermes never offers a server that has the name of one of its toolsets. The model
            # does not see the prefix.
            "mcp_servers": {f"u-{server['name']}": _mcp(server) for server in mcp_servers(config, llm)},
            # An empty list means no tools. A platform that is not in this list would get all tools.
            "platform_toolsets": dict.fromkeys(platforms, chosen),
            "terminal": {"backend": "local", "cwd": str(workspace)},
            "timezone": config.timezone or "UTC",
            **hermes_channels.settings(config),
            **hermes_tools.settings(chosen, llm),
        }


def _chosen(config: PodConfig) -> list[str]:
    return [name for name in config.toolsets or Hermes.safe_toolsets if name in Hermes.toolsets]


def _is_asked(config: PodConfig) -> bool:
    return config.provider in _PROVIDERS and bool(config.model)


def _model(config: PodConfig, llm: ProxyAccess) -> dict[str, Any]:
    if not _is_asked(config):
        return {}
    ending, protocol = _PROVIDERS[config.provider or ""]
    provider = {
        "base_url": f"{llm.url}/llm/{config.provider}{ending}",
        "key_env": "POD_LLM_TOKEN",
        "api_mode": protocol,
    }
    model = {"provider": _PROVIDER, "default": config.model, "context_length": _CONTEXT_TOKENS}
    return {"model": model, "providers": {_PROVIDER: provider}}


def _mcp(server: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: server[name] for name in ("command", "args", "env", "url", "headers") if server.get(name)}
    return {**given, "connect_timeout": _MCP_SECONDS}


def _python(place: EnginePlace) -> str:
    return str(place.install / Hermes.package.python)


def _dashboard(config: PodConfig, place: EnginePlace) -> Sidecar:
    """The program for hermes' own pages, on the loopback address. They have no login, so the gateway checks the
    visitor. They get no secret.
    """
    address = ("--host", "127.0.0.1", "--port", str(place.side_port))
    return Sidecar(
        argv=(_python(place), "-I", "-m", _MODULE, "dashboard", *address, "--no-open", "--skip-build"),
        env=_surroundings(config, place),
        cwd=place.data / "workspace",
    )


def _environment(config: PodConfig, place: EnginePlace, llm: ProxyAccess) -> dict[str, str]:
    return {
        **_surroundings(config, place),
        **{name: os.environ[name] for name in _AUTHORITIES if name in os.environ},
        "API_SERVER_ENABLED": "true",
        "API_SERVER_HOST": "127.0.0.1",
        "API_SERVER_PORT": str(place.port),
        "API_SERVER_KEY": place.password,
        "POD_LLM_TOKEN": llm.token,
        **hermes_channels.environment(config),
        **hermes_tools.environment(_chosen(config), llm),
    }


def _surroundings(config: PodConfig, place: EnginePlace) -> dict[str, str]:
    """The environment without secrets. Nothing is inherited from the bridge."""
    return {
        **environment(config, place),
        "PYTHONDONTWRITEBYTECODE": "1",  # several agents share the installation
        "HERMES_HOME": str(place.data / "hermes"),
        # After five starts in two minutes hermes would sleep before each further start. But the bridge decides about
        # restarts.
        "HERMES_GATEWAY_MAX_STARTS": "0",
        "HERMES_TIMEZONE": config.timezone or "UTC",
    }


HERMES = Hermes()
