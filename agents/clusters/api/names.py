"""Names, numbers and paths that builders, driver and observer share."""

from __future__ import annotations

FIELD_MANAGER = "agentpods"

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "agentpods"
INSTALLATION_LABEL = "agentpods.dev/installation"
AGENT_LABEL = "agentpods.dev/agent"
# On pods: the fingerprint of their gateway's certificate. Pods of an old release without certificates have no such
# label.
CERTIFICATE_LABEL = "agentpods.dev/certificate"
HASH_ANNOTATION = "agentpods.dev/spec-hash"

# Objects inside the agent's namespace.
POD = "pod"  # Deployment, Service, policies, quotas, routes
CLAIM = "data"
GATEWAY_SECRET = "gateway"  # noqa: S105 # a name
ENGINE_SECRET = "engine"  # noqa: S105
PULL_SECRET = "pull"  # noqa: S105
RIGHTS = "agentpods"  # the binding of our own account's role
DOMAIN = "domain"  # objects for the customer's own hostname

ENGINE = "engine"
GATEWAY = "gateway"

PUBLIC_PORT = 8080
MANAGEMENT_PORT = 8081
LLM_PORT = 8082
BRIDGE_PORT = 8083
ENGINE_PORT = 8084
SIDE_PORT = 8085
# What an engine reaches whose way out is limited (agents/pod/bridge/wall.py).
WALLED_PORTS = (LLM_PORT, ENGINE_PORT, SIDE_PORT)

START_DIRECTORY = "/etc/agentpods"
START_FILE = "start.json"
RUN_DIRECTORY = "/run/agentpods"
BRIDGE_BUNDLE = "/opt/bridge"  # in the image of this project
BRIDGE_DIRECTORY = "/agentpods"
RESTIC = "/agentpods/bin/restic"  # copied together with the bridge
DATA_MOUNT = "/data"
DATA_DIRECTORY = "/data/agent"
ENGINES_DIRECTORY = "/opt/engines"
NODE = "/opt/node/bin/node"

MIB = 2**20
# The bridge runs in the engine's container and does not count for the agent's quota.
BRIDGE_BYTES = 64 * MIB
# The memory that a backup may take in addition, while it runs.
BACKUP_BYTES = 128 * MIB


def labels(*, installation: str, agent_id: str) -> dict[str, str]:
    """The labels of every object of an agent. An object without them is not ours."""
    return {MANAGED_BY_LABEL: MANAGED_BY, INSTALLATION_LABEL: installation, AGENT_LABEL: agent_id}
