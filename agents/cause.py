"""The causes of an agent's state, as `explain` names them. A pod's programs name some too: this imports no Django."""

from enum import StrEnum


class Cause(StrEnum):
    OK = "OK"
    STARTING = "STARTING"
    INSTALLING = "INSTALLING"
    STOPPING = "STOPPING"

    # The pod is stopped. These are the words of `Reason`.
    OWNER = "OWNER"
    OPERATOR = "OPERATOR"
    TRIAL = "TRIAL"
    PAYMENT = "PAYMENT"
    QUOTA = "QUOTA"  # also: the cluster's own quota has no room for the pod
    SUSPENDED = "SUSPENDED"

    # The agent's configuration or payment.
    UNPAID = "UNPAID"
    NO_MODEL_KEY = "NO_MODEL_KEY"
    KEY_UNCHECKED = "KEY_UNCHECKED"
    MODEL_UNREACHABLE = "MODEL_UNREACHABLE"
    MODEL_REFUSED = "MODEL_REFUSED"
    MODEL_KEY_REFUSED = "MODEL_KEY_REFUSED"
    MODEL_LIMIT = "MODEL_LIMIT"
    MODEL_FAILING = "MODEL_FAILING"
    SPENDING_LIMIT = "SPENDING_LIMIT"
    CALLS_STOPPED = "CALLS_STOPPED"
    CHANNEL_SILENT = "CHANNEL_SILENT"
    DOMAIN_UNPROVED = "DOMAIN_UNPROVED"
    DOMAIN_ELSEWHERE = "DOMAIN_ELSEWHERE"
    CERTIFICATE = "CERTIFICATE"
    SECRET_LOST = "SECRET_LOST"  # noqa: S105 # a cause, no secret
    QUOTA_WARN = "QUOTA_WARN"
    QUOTA_GRACE = "QUOTA_GRACE"
    BACKUP_FAILED = "BACKUP_FAILED"

    # The engine and the pod's programs.
    INSTALL = "INSTALL"
    BOOT = "BOOT"
    BOOT_TIMEOUT = "BOOT_TIMEOUT"
    CONFIG = "CONFIG"
    CONFIGURE = "CONFIGURE"
    CRASH_LOOP = "CRASH_LOOP"
    ENGINE_DIED = "ENGINE_DIED"
    ENGINE_DOWN = "ENGINE_DOWN"
    ENGINE_HUNG = "ENGINE_HUNG"
    BRIDGE_DIED = "BRIDGE_DIED"
    BRIDGE_HUNG = "BRIDGE_HUNG"
    GATEWAY_DOWN = "GATEWAY_DOWN"
    GATEWAY_HUNG = "GATEWAY_HUNG"
    GATEWAY_OUTDATED = "GATEWAY_OUTDATED"
    POD_DIED = "POD_DIED"
    POD_LOST = "POD_LOST"
    OOM = "OOM"
    PORT = "PORT"
    DISK_FULL = "DISK_FULL"
    DATA_LOST = "DATA_LOST"  # the disk is empty although the agent had data
    DATA_DAMAGED = "DATA_DAMAGED"
    RESTORE = "RESTORE"  # the backup could not be restored; the data is unchanged

    # The place where pods run.
    ADMISSION = "ADMISSION"
    BAD_NAME = "BAD_NAME"
    BUSY = "BUSY"
    CLUSTER = "CLUSTER"
    CREDENTIALS = "CREDENTIALS"
    DELETING = "DELETING"
    ENGINE = "ENGINE"
    EVICTED = "EVICTED"
    FORBIDDEN = "FORBIDDEN"
    IMAGE_PULL = "IMAGE_PULL"
    INVALID = "INVALID"
    NODE_LOST = "NODE_LOST"
    NOT_OURS = "NOT_OURS"
    NO_ADDRESS = "NO_ADDRESS"
    NO_CAPACITY = "NO_CAPACITY"
    STUCK = "STUCK"
    VOLUME = "VOLUME"


# Waiting does not bring the data back, and another pod does not either.
UNUSABLE_DATA = frozenset({Cause.DATA_LOST, Cause.DATA_DAMAGED})
