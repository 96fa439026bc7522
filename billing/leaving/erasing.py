"""What is erased with an account, and what the erasure waits for.

Rows of the ledger stay; they then belong to an account without a name. An invoice keeps the buyer's name and address,
because tax law demands them, and loses the email address.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from accounts import personal as of_accounts
from accounts.models import User
from agents import personal as of_agents
from billing import personal as of_billing
from billing.providers import registry
from catalog import personal as of_catalog

# so long we wait for a mail server that is down; then unsent mails are deleted with the account
MAIL_WAITS = timedelta(days=1)


def waits_for(user: User, *, closed_at: datetime, now: datetime) -> str:
    """What has not ended yet, in words. Empty when everything has."""
    if told := of_agents.still_there(user, now=now) or of_billing.still_charged(user):
        return told
    return "its last mail" if of_accounts.is_waiting_for_mail(user) and now < closed_at + MAIL_WAITS else ""


def away(user: User, *, now: datetime) -> None:
    """Erase the person's texts in the catalog and the person at payment providers, which one transaction cannot do.

    Calling this twice is harmless.
    """
    of_catalog.erase(user.pk, now=now)
    for driver in registry.drivers():
        driver.forget(user)


def here(user: User) -> None:
    """Erase the data in the database. Needs a transaction. Calling this twice is harmless."""
    of_billing.erase(user)
    of_agents.erase(user)
    of_accounts.erase(user)


def forget_mailboxes(*, now: datetime) -> None:
    """Delete the digests of mailboxes by which trials are counted, some weeks after the account is gone."""
    of_agents.forget_mailboxes(now=now)
