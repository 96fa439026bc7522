"""Tasks about backups. Each gets ids and calls one rule. Only workers import this module."""

from __future__ import annotations

from celery import shared_task

from agents.backups import drill_thread, drills, expiry, nightly, taking


@shared_task(name=taking.TASK)
def step(backup_id: str) -> None:
    taking.step(backup_id)


@shared_task(name="backups.take_due")
def take_due() -> None:
    taking.take_due()


@shared_task(name="backups.ask_due")
def ask_due() -> None:
    nightly.ask_due()


@shared_task(name="backups.expire")
def expire() -> None:
    expiry.take_out_due()


@shared_task(name=drills.TASK)
def drill(agent_id: str) -> None:
    drill_thread.begin(agent_id)


@shared_task(name="backups.drill_due")
def drill_due() -> None:
    drill_thread.begin_due()
