"""Where pods run: one driver per kind of place, all behind `agents.runtimes.base.Runtime`."""

from __future__ import annotations

import functools
from importlib import import_module

from agents.runtimes.base import Runtime

DRIVERS = {"local": "agents.runtimes.local:LocalRuntime"}


def current_runtime() -> Runtime:
    """The driver that AGENT_RUNTIME names."""
    from django.conf import settings  # noqa: PLC0415 # the drivers themselves know nothing of Django

    return _driver(settings.AGENT_RUNTIME)


@functools.cache
def _driver(name: str) -> Runtime:
    module, _, attribute = DRIVERS[name].partition(":")
    runtime: Runtime = getattr(import_module(module), attribute)()
    return runtime
