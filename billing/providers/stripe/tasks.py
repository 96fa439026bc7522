"""The Celery tasks of Stripe. The table of periodic jobs is in config/celery.py."""

from __future__ import annotations

from billing.providers.stripe import cancelling, feed, inbox, orders, repricing, sending
from config.rule_tasks import clocked

process_stripe = clocked("billing.process_stripe", inbox.process_due)
catch_up_with_stripe = clocked("billing.catch_up_with_stripe", feed.catch_up)
check_cards = clocked("billing.check_cards", feed.check_due)
cancel_cards = clocked("billing.cancel_cards", cancelling.cancel_due)
reprice_cards = clocked("billing.reprice_cards", repricing.reprice_due)
send_back_by_card = clocked("billing.send_back_by_card", sending.send_due)
expire_stripe_orders = clocked("billing.expire_stripe_orders", orders.expire_due)
