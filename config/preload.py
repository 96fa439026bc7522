"""What a process imports before its threads start, though most processes can do without it.

A library that is expensive and rarely needed is imported on first use. Two threads that do so at once can find half of
each other's modules. So each app names here what imports the libraries that this installation needs, and programs
with threads call `run` first (config/run/web.py, config/celery.py).
"""

from __future__ import annotations

from collections.abc import Callable

_steps: list[Callable[[], object]] = []


def before_threads(step: Callable[[], object]) -> None:
    """Have the step taken by each program with threads, before they start. Named once, when applications start."""
    _steps.append(step)


def run() -> None:
    """Take all steps. Called by a program that has one thread still."""
    for step in _steps:
        step()
