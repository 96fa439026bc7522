"""The places where pods run: one driver for each kind of place, all behind `agents.runtimes.base.Runtime`."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points

from agents.runtimes.base import Runtime

# Runtimes of third parties: the name of the entry point is the runtime's name, and its value is the class.
GROUP = "agentpods.runtimes"


def current_runtime() -> Runtime:
    """The driver that the setting AGENT_RUNTIME names."""
    from django.conf import settings  # noqa: PLC0415 # imported here, so that the drivers themselves do not need Django

    return _driver(settings.AGENT_RUNTIME)


def warm_up() -> None:
    """Let the driver prepare what its first pod would wait for, if it has something."""
    if prepare := getattr(current_runtime(), "warm_up", None):
        prepare()


def reports_changes(runtime: Runtime) -> bool:
    """Whether an observer makes an agent due as soon as its pod changes, so that nobody need look at all pods again and
    again. A runtime of a third party that does not say has none.
    """
    return getattr(runtime, "REPORTS_CHANGES", False)


@functools.cache
def _driver(name: str) -> Runtime:
    return make(name)


def make(name: str) -> Runtime:
    """Make a driver: `local`, `kubernetes`, the entry point of a package, or a class by its dotted name. A class is
    called without arguments. Raises LookupError.
    """
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
    from config import background  # noqa: PLC0415

    return LocalRuntime(
        home=settings.AGENTPODS_HOME,
        engine_cache=settings.ENGINE_CACHE,
        keep_pods=settings.KEEP_PODS,
        restic=settings.RESTIC,
        tell=functools.partial(background.at_once, "agents.reconcile"),
    )
