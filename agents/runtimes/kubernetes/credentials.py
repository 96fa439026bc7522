"""From a kubeconfig, or from where a pod finds its service account, to what the official client needs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agents.runtimes.kubernetes import kubeconfig

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_importing = threading.Lock()


def official_client() -> Any:
    """The official client with all its parts, on first use, for it is a quarter of what a process's start costs.

    One thread imports it: two that do so at once can find each other's half.
    """
    with _importing:
        import kubernetes.utils.quantity  # noqa: PLC0415 # see above

    return kubernetes


def configuration(text: str | None) -> Configuration:
    """None is the cluster that we run in. Raises ValueError, without a word of what the kubeconfig says.

    What a kubeconfig may have is judged here too: rows may be older than the rule.
    """
    config = official_client().config
    found: Configuration = official_client().client.Configuration()
    found.connection_pool_maxsize = 1  # of one thread
    found.proxy = None
    try:
        if text:
            given = kubeconfig.read(text).as_dict()
            config.load_kube_config_from_dict(given, client_configuration=found, persist_config=False)
        else:
            config.load_incluster_config(client_configuration=found)
    except kubeconfig.Refused:
        raise
    except (config.ConfigException, KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(type(error).__name__) from error
    return found
