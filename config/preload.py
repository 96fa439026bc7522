"""What a process imports before it starts its threads.

A slow library that is rarely needed is imported on first use. If two threads do that at the same time, each can see
half-imported modules of the other. So each app registers the imports that this installation needs, and programs with
threads call `run` first (config/run/web.py, config/celery.py).
"""

from __future__ import annotations

from collections.abc import Callable

_steps: list[Callable[[], object]] = []


def before_threads(step: Callable[[], object]) -> None:
    """Register a step that each program with threads takes before it starts them. Called when applications start."""
    _steps.append(step)


def run() -> None:
    """Take all steps. Call this while the program still has only one thread."""
    for step in _steps:
        step()
