"""Where pods run: one driver per kind of place, all behind `agents.runtimes.base.Runtime`."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points

from agents.runtimes.base import Runtime

# Runtimes of third parties: the entry point's name is the runtime's, its value the class.
GROUP = "agentpods.runtimes"


def current_runtime() -> Runtime:
    """The driver that AGENT_RUNTIME names."""
    from django.conf import settings  # noqa: PLC0415 # the drivers themselves know nothing of Django

    return _driver(settings.AGENT_RUNTIME)


@functools.cache
def _driver(name: str) -> Runtime:
    return make(name)


def make(name: str) -> Runtime:
    """`local`, `kubernetes`, the entry point of a package, or a class by its dotted name, made without arguments."""
    from django.conf import settings  # noqa: PLC0415
    from django.utils.module_loading import import_string  # noqa: PLC0415

    if "." in name:
        driver: Runtime = import_string(name)()
        return driver
    if name == "kubernetes":
        from agents.runtimes.kubernetes.driver import KubernetesRuntime  # noqa: PLC0415

        return KubernetesRuntime()
    if point := entry_points(group=GROUP).select(name=name):
        theirs: Runtime = next(iter(point)).load()()
        return theirs
    if name != "local":
        installed = "".join(f", {one}" for one in entry_points(group=GROUP).names)
        raise LookupError(
            f"AGENT_RUNTIME={name!r}: must be local, kubernetes{installed}, or a class by its dotted name"
        )
    from agents.runtimes.local import LocalRuntime  # noqa: PLC0415 # only the driver in use is loaded

    return LocalRuntime(
        home=settings.AGENTPODS_HOME,
        engine_cache=settings.ENGINE_CACHE,
        keep_pods=settings.KEEP_PODS,
        restic=settings.RESTIC,
    )
