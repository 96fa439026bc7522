"""What is taken away with an account, and what that has to wait for.

Rows of the ledger stay, and belong to an account without a name. An invoice keeps the name and the address that its
buyer wanted on it, because tax law asks for them, and loses the e-mail address.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from accounts import personal as of_accounts
from accounts.models import User
from agents import personal as of_agents
from billing import personal as of_billing
from billing.stripe import customers
from catalog import personal as of_catalog

MAIL_WAITS = timedelta(days=1)  # a mail server may be away; a mail that is no longer awaited goes with the account


def waits_for(user: User, *, closed_at: datetime, now: datetime) -> str:
    """In words, what has not ended yet; empty when everything has."""
    if told := of_agents.still_there(user, now=now) or of_billing.still_charged(user):
        return told
    return "its last mail" if of_accounts.is_waiting_for_mail(user) and now < closed_at + MAIL_WAITS else ""


def away(user: User, *, now: datetime) -> None:
    """What is elsewhere, or held by others, and cannot go in one transaction. Twice is harmless."""
    of_catalog.erase(user.pk, now=now)
    customers.forget(user)


def here(user: User) -> None:
    """Needs a transaction. Twice is harmless."""
    of_billing.erase(user)
    of_agents.erase(user)
    of_accounts.erase(user)


def forget_mailboxes(*, now: datetime) -> None:
    """Trials are counted by the mailbox for some weeks, as a digest once the account is gone. Then no longer."""
    of_agents.forget_mailboxes(now=now)
