"""The engine n8n: one server, in which the agent is one workflow among those that its owner builds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from agents.engines.base import Driver, KeyProxy, Launch, NpmPackage, Place, Processes, Stores
from agents.engines.n8n_http import N8nDriver
from agents.engines.n8n_workflow import AGENT_ID, PROVIDERS, SAFE_TOOLSETS, TOOLSETS, agent
from agents.runtimes.base import PodConfig

VERSION = "2.30.8"
PARTS = Path(__file__).parent / "n8n_parts"
_HOST = "127.0.0.1"
# The rest is for its tasks, and for what is not on the heap.
_HEAP_SHARE = 0.55
# The start makes much garbage: with more room for what is young, a tenth less CPU goes into collecting it.
_FLAGS = ("--max-semi-space-size=64",)
# What calls n8n's own servers, is for companies with a licence of it, or is no use in a pod. Each costs time.
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
# Nobody signs in as this user: the agent's own login is the door (n8n_parts/agent.cjs).
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
        # As its lock was made; what is optional would have to be compiled.
        flags=("--legacy-peer-deps", "--omit=optional"),
    )
    providers = frozenset(PROVIDERS)
    toolsets: Mapping[str, tuple[str, ...]] = TOOLSETS
    safe_toolsets: tuple[str, ...] = SAFE_TOOLSETS
    mcp_stdio = False
    stores = Stores(
        sessions="n8n",
        session_files="conversations.sqlite*",  # what was said last may still be in the log beside it
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

    def render(self, config: PodConfig, *, place: Place, llm: KeyProxy) -> Launch:
        """The agent itself is read again at each turn; a new environment needs a new start."""
        home = place.data / "n8n"
        heap = int(place.memory_bytes * _HEAP_SHARE) >> 20
        return Launch(
            files={},
            live_files={home / "agent.json": json.dumps(agent(config, llm), indent=1) + "\n"},
            directories=(home, place.data / "workspace", place.data / "home", place.data / "tmp"),
            argv=(str(place.node), *_FLAGS, f"--max-old-space-size={heap}", str(PARTS / "start.cjs")),
            env=_environment(config, place),
            cwd=place.data / "workspace",
            model=None,  # a model's name is taken as it is, at each turn
        )

    def session_argv(self, session: str | None, launch: Launch) -> tuple[str, ...]:
        return ()

    def attach(self, process: asyncio.subprocess.Process, launch: Launch) -> Driver:
        return N8nDriver(process, port=int(launch.env["N8N_PORT"]), password=launch.env["AGENTPODS_PASSWORD"])


def _environment(config: PodConfig, place: Place) -> dict[str, str]:
    """Nothing of ours is inherited: the engine sees this and no more."""
    home = place.data / "n8n"
    return {
        "PATH": f"{place.node.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(place.data / "home"),
        "TMPDIR": str(place.data / "tmp"),
        "LANG": "C.UTF-8",
        "NODE_ENV": "production",
        "TZ": config.timezone or "UTC",
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
    """What n8n tells its owner, and the services that call his workflows, of where it is."""
    if not config.public_url:
        return {}
    root = config.public_url.rstrip("/") + "/"
    return {"WEBHOOK_URL": root, "N8N_EDITOR_BASE_URL": root}


N8N = N8n()
