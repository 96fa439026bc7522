"""The engine n8n: one server, in which the agent is one workflow beside those that the owner builds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from agents.engines.base import Driver, EnginePlace, Launch, NpmPackage, Processes, ProxyAccess, Stores
from agents.engines.n8n_http import N8nDriver
from agents.engines.n8n_workflow import AGENT_ID, PROVIDERS, SAFE_TOOLSETS, TOOLSETS, agent
from agents.engines.rendering import environment
from agents.runtimes.base import PodConfig

VERSION = "2.30.8"
PARTS = Path(__file__).parent / "n8n_parts"
_HOST = "127.0.0.1"
# The share of memory for the heap. The rest is for n8n's tasks and for memory outside of the heap.
_HEAP_SHARE = 0.55
# The start creates much garbage. With more room for young objects, garbage collection takes a tenth less CPU time.
_FLAGS = ("--max-semi-space-size=64",)
# Modules that call n8n's own servers, need a company licence, or are useless in a pod. Each would cost time at the
# start.
_WITHOUT = (
    "breaking-changes",
    "chat-hub",
    "community-packages",
    "dynamic-credentials",
    "external-secrets",
    "insights",
    "instance-registry",
    "instance-version-history",
    "ldap",
    "log-streaming",
    "mcp",
    "mcp-registry",
    "n8n-packages",
    "otel",
    "provisioning",
    "quick-connect",
    "source-control",
    "sso-oidc",
    "sso-saml",
    "token-exchange",
    "workflow-builder",
)
_QUIET = {
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_WHATS_NEW_ENABLED": "false",
    "N8N_DYNAMIC_BANNERS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_HIRING_BANNER_ENABLED": "false",
    "N8N_PERSONALIZATION_ENABLED": "false",
    "N8N_LICENSE_AUTO_RENEW_ENABLED": "false",
    "N8N_COMMUNITY_PACKAGES_ENABLED": "false",
    "N8N_HIDE_USAGE_PAGE": "true",
    "N8N_DISABLED_MODULES": ",".join(_WITHOUT),
    "N8N_LOG_LEVEL": "warn",
}
# Nobody signs in as this user: people use the agent's own login (n8n_parts/agent.cjs).
_OWNER = {
    "N8N_INSTANCE_OWNER_MANAGED_BY_ENV": "true",
    "N8N_INSTANCE_OWNER_EMAIL": "owner@agent.invalid",
    "N8N_INSTANCE_OWNER_FIRST_NAME": "Agent",
    "N8N_INSTANCE_OWNER_LAST_NAME": "Owner",
}


class N8n:
    id = "n8n"
    processes = Processes.ONE_SERVER
    package = NpmPackage(
        name="n8n",
        version=VERSION,
        recipe=Path(__file__).parent / "npm" / "n8n",
        entry=Path("node_modules") / "n8n" / "bin" / "n8n",
        # The same flags with which the lock was made. Optional packages would have to be compiled.
        flags=("--legacy-peer-deps", "--omit=optional"),
    )
    providers = frozenset(PROVIDERS)
    toolsets: Mapping[str, tuple[str, ...]] = TOOLSETS
    safe_toolsets: tuple[str, ...] = SAFE_TOOLSETS
    mcp_stdio = False
    stores = Stores(
        sessions="n8n",
        session_files="conversations.sqlite*",  # the newest rows may still be in the log file beside the database
        count="SELECT count(DISTINCT session) FROM messages",
        left_out=(
            "n8n/agent.json",
            "n8n/.n8n/crash.journal",
            "n8n/.n8n/*.log",
            "n8n/.n8n/ssh",
            "n8n/.cache",
            "home/.cache",
            "home/.npm",
        ),
    )
    megabytes_per_process = 1024
    noise = ""

    def render(self, config: PodConfig, *, place: EnginePlace, llm: ProxyAccess) -> Launch:
        """The agent's workflow is read again at each turn. A changed environment needs a restart."""
        home = place.data / "n8n"
        heap = int(place.memory_bytes * _HEAP_SHARE) >> 20
        return Launch(
            files={},
            live_files={home / "agent.json": json.dumps(agent(config, llm), indent=1) + "\n"},
            directories=(home, place.data / "workspace", place.data / "home", place.data / "tmp"),
            argv=(str(place.node), *_FLAGS, f"--max-old-space-size={heap}", str(PARTS / "start.cjs")),
            env=_environment(config, place),
            cwd=place.data / "workspace",
            model=None,  # n8n does not check the model's name; it is used at each turn
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return N8nDriver(process, port=int(launch.env["N8N_PORT"]), password=launch.env["AGENTPODS_PASSWORD"])


def _environment(config: PodConfig, place: EnginePlace) -> dict[str, str]:
    home = place.data / "n8n"
    return {
        **environment(config, place),
        "NODE_ENV": "production",
        "GENERIC_TIMEZONE": config.timezone or "UTC",
        "N8N_USER_FOLDER": str(home),
        "N8N_LISTEN_ADDRESS": _HOST,
        "N8N_PORT": str(place.port),
        "N8N_RUNNERS_BROKER_PORT": str(place.side_port),
        "N8N_CUSTOM_EXTENSIONS": str(PARTS / "nodes"),
        "N8N_RESTRICT_FILE_ACCESS_TO": str(place.data / "workspace"),
        "N8N_BLOCK_ENV_ACCESS_IN_NODE": "true",
        "N8N_PUSH_BACKEND": "sse",
        "N8N_SECURE_COOKIE": "false",  # its cookies never leave the pod
        "N8N_PROXY_HOPS": "1",
        "EXECUTIONS_DATA_MAX_AGE": "168",
        **_addresses(config),
        **_QUIET,
        **_OWNER,
        "AGENTPODS_N8N": str(place.install),
        "AGENTPODS_AGENT_FILE": str(home / "agent.json"),
        "AGENTPODS_AGENT_ID": AGENT_ID,
        "AGENTPODS_PASSWORD": place.password,
    }


def _addresses(config: PodConfig) -> dict[str, str]:
    """The addresses under which n8n's owner, and the services that call the owner's workflows, reach n8n."""
    if not config.public_url:
        return {}
    root = config.public_url.rstrip("/") + "/"
    return {"WEBHOOK_URL": root, "N8N_EDITOR_BASE_URL": root}


N8N = N8n()
