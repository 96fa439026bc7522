"""From a kubeconfig, or from where a pod finds its service account, to what the official client needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from kubernetes.client import Configuration


def configuration(kubeconfig: str | None) -> Configuration:
    """None is the cluster that we run in. Raises ValueError, without a word of what the kubeconfig says."""
    from kubernetes import client, config  # noqa: PLC0415 # on first use: a quarter of what our processes' start costs

    found = client.Configuration()
    found.connection_pool_maxsize = 1  # of one thread
    found.proxy = None
    try:
        if kubeconfig:
            config.load_kube_config_from_dict(  # type: ignore[no-untyped-call] # the library's
                yaml.safe_load(kubeconfig), client_configuration=found, persist_config=False
            )
        else:
            config.load_incluster_config(client_configuration=found)  # type: ignore[no-untyped-call]
    except (config.ConfigException, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise ValueError(type(error).__name__) from error
    return found
