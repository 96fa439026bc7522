"""Celery tasks that only call a rule. Each app lists its tasks in `tasks.py`: the name, which is on the wire, and the
rule, which gets the ids that the task carries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import shared_task
from django.utils import timezone

from config import clock

Rule = Callable[..., object]


def plain(name: str, rule: Rule) -> Any:
    """A task that calls the rule."""

    def run(*ids: str) -> None:
        rule(*ids)

    run.__name__ = name.rpartition(".")[2]
    return shared_task(name=name)(run)


def timed(name: str, rule: Rule) -> Any:
    """A task that calls the rule with the time as `now`."""
    return plain(name, lambda *ids: rule(*ids, now=timezone.now()))


def clocked(name: str, rule: Rule) -> Any:
    """Like `timed`, for decisions about money: with a wrong clock the task fails (config/clock.py)."""
    return plain(name, lambda *ids: rule(*ids, now=clock.now()))


def checked(name: str, rule: Rule) -> Any:
    """Like `clocked`, for a rule that takes the time itself."""

    def run(*ids: str) -> None:
        clock.now()
        rule(*ids)

    return plain(name, run)
