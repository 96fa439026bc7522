"""Builds the official client's configuration from a kubeconfig, or from the service account of the pod in which this
process runs.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agents.clusters.api import kubeconfig

if TYPE_CHECKING:
    from kubernetes.client import Configuration

_importing = threading.Lock()


def official_client() -> Any:
    """The official client with all its modules, imported on first use, because the import takes a quarter of a
    process's start time.
    The lock makes only one thread import it: two at the same time could see each other's half-loaded modules.
    """
    with _importing:
        import kubernetes.utils.quantity  # noqa: PLC0415 # see the docstring

    return kubernetes


def configuration(text: str | None) -> Configuration:
    """The official client's configuration. `text` None means the cluster in which this process runs. Raises ValueError,
    whose text contains nothing from the kubeconfig.
    The kubeconfig is checked here too, because a row may be older than the rules for kubeconfigs.
    """
    config = official_client().config
    found: Configuration = official_client().client.Configuration()
    found.connection_pool_maxsize = 1  # for one thread
    found.proxy = None
    try:
        if text:
            given = kubeconfig.read(text).as_dict()
            config.load_kube_config_from_dict(given, client_configuration=found, persist_config=False)
        else:
            config.load_incluster_config(client_configuration=found)
    except kubeconfig.BadKubeconfig:
        raise
    except (config.ConfigException, KeyError, TypeError, ValueError, OSError) as error:
        raise ValueError(type(error).__name__) from error
    return found
