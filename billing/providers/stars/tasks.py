"""The Celery tasks of Telegram Stars. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from billing.providers.stars import feed, orders, refunds
from config.rule_tasks import clocked

expire_stars_orders = clocked("billing.expire_stars_orders", orders.expire_due)
send_back_stars = clocked("billing.send_back_stars", refunds.send_due)
reconcile_stars = clocked("billing.reconcile_stars", feed.reconcile)
