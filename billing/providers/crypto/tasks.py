"""The Celery tasks of stablecoins. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from billing.providers.crypto import misplaced, scanning, watching
from config.rule_tasks import clocked

scan_chain = clocked("billing.scan_chain", scanning.scan)
watch_chain = clocked("billing.watch_chain", watching.watch)
reread_chain = clocked("billing.reread_chain", watching.reread)
look_for_misplaced = clocked("billing.look_for_misplaced", misplaced.look)
