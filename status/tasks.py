"""The Celery tasks of the platform's own records."""

from __future__ import annotations

from config.rule_tasks import timed
from status.overview import facts

measure = timed("status.measure", facts.measure)
