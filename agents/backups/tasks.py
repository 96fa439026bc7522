"""Tasks about backups. Each gets ids and calls one rule. Only workers import this module."""

from __future__ import annotations

from agents.backups import drill_thread, drills, expiry, nightly, taking
from config.rule_tasks import plain

step = plain(taking.TASK, taking.step)
take_due = plain("backups.take_due", taking.take_due)
ask_due = plain("backups.ask_due", nightly.ask_due)
expire = plain("backups.expire", expiry.take_out_due)
drill = plain(drills.TASK, drill_thread.begin)
drill_due = plain("backups.drill_due", drill_thread.begin_due)
