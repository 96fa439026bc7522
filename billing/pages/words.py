"""Texts for agents, terms and payments on the pages: states, causes, dates, kinds of payment."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents.causes import Explanation
from agents.errors import renew_url
from agents.models import Agent, Desired, Status
from agents.runtimes.base import DATA_DAMAGED, DATA_LOST, RESTORE
from billing.models import Payment
from billing.pages.names import way_name
from billing.providers.telegram import CURRENCY as STARS
from billing.sums import exact
from billing.term import Term
from billing.vocabulary import Asset, PaymentKind, Period, TermMode
from catalog.pages.words import usd

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
CENTS = Decimal(100)

STATUSES: dict[str, Promise] = {
    Status.PROVISIONING: _("starting"),
    Status.RUNNING: _("running"),
    Status.STOPPED: _("stopped"),
    Status.FAILED: _("failed"),
}
KINDS: dict[str, Promise] = {
    PaymentKind.PAYMENT: _("Payment"),
    PaymentKind.RENEWAL: _("Renewal"),
    PaymentKind.CREDIT: _("Credit by us"),
    PaymentKind.GRANT: _("Granted by us"),
    PaymentKind.REFUND: _("Refund"),
    PaymentKind.CAME_BACK: _("Refund that failed"),
    PaymentKind.REVOKE: _("Grant taken back"),
    PaymentKind.KEY_MOVE: _("Licence key moved"),
    PaymentKind.MOVE: _("Moved from a deleted agent"),
    PaymentKind.RESTORED: _("Paid again, according to the provider"),
    PaymentKind.NEW_PLAN: _("Plan changed at the provider"),
}
PERIODS: dict[str, Promise] = {Period.MONTHLY: _("for a month"), Period.ANNUAL: _("for a year")}

OUR_FAULTS = (
    *("ADMISSION", "BAD_NAME", "CLUSTER", "DELETING", "ENGINE", "IMAGE_PULL", "NOT_OURS", "NO_ADDRESS", "SECRET_LOST"),
    "VOLUME",
)
# agents/explanation.py has the detailed causes in English. These are the short texts for people.
CAUSES: dict[str, Promise] = {
    "OK": _("Everything is fine: the agent runs and has a model key."),
    "KEY_UNCHECKED": _("The agent runs. Its model key could not be checked: the first answer shows whether it works."),
    "UNPAID": _("It is not paid for any more."),
    "NO_MODEL_KEY": _("The agent runs but says nothing, because it has no model key."),
    "OWNER": _("You paused it. Its data is kept."),
    "OPERATOR": _("We paused it, not you. Its data is kept."),
    "TRIAL": _("Its free time is over. Its data is kept for now."),
    "PAYMENT": _("The paid time is over. Its data is kept for now."),
    "QUOTA": _("It was stopped because its memory or disk was full for an hour. Its data is kept."),
    "SUSPENDED": _("It was stopped with the account. Its data is kept."),
    "INSTALLING": _("Its engine is being installed."),
    "STARTING": _("It is being started."),
    "STOPPING": _("It is being stopped."),
    "POD_LOST": _("The space it ran in is gone. We are setting up a new one."),
    **dict.fromkeys(
        ("GATEWAY_DOWN", "GATEWAY_OUTDATED"),
        _("Its gateway, the program that passes messages to it, does not answer and is being started again."),
    ),
    "ENGINE_DOWN": _("Its engine does not answer and is being started again."),
    "ENGINE_HUNG": _("Its engine hangs and is being started again."),
    "QUOTA_GRACE": _("Its memory or disk is full. It will be stopped within the hour unless it uses less."),
    "QUOTA_WARN": _("Its memory or disk is nearly full."),
    "MODEL_UNREACHABLE": _("It runs, but the provider of its model does not answer."),
    "MODEL_REFUSED": _("It runs, but the provider refuses the model or the request."),
    "MODEL_KEY_REFUSED": _("It runs, but the provider refuses its model key."),
    "MODEL_LIMIT": _("It runs, but the model key has reached a limit at the provider."),
    "MODEL_FAILING": _("It runs, but its model fails."),
    "INSTALL": _("Its engine could not be installed."),
    "CRASH_LOOP": _("Its engine crashes again and again."),
    "OOM": _("Its engine needs more memory than the plan has."),
    "DISK_FULL": _("Its disk is full."),
    DATA_LOST: _("Its disk is empty, although it had data before. We did not start it."),
    DATA_DAMAGED: _("Its data is damaged. We did not start it."),
    RESTORE: _("The backup could not be restored. Its data has not changed."),
    "BACKUP_FAILED": _("Its last backup failed. It is tried again by itself."),
    "DOMAIN_UNPROVED": _("It runs, but it is not proved yet that its domain is yours."),
    "DOMAIN_ELSEWHERE": _("It runs, but its domain leads elsewhere."),
    "CHANNEL_SILENT": _("It runs, but it gets no messages on one of its channels."),
    "CERTIFICATE": _("It runs, but browsers do not trust its certificate and warn its visitors."),
    "BOOT_TIMEOUT": _("It did not start in time."),
    **dict.fromkeys(
        ("GATEWAY_HUNG", "BRIDGE_HUNG", "BRIDGE_DIED", "POD_DIED", "ENGINE_DIED", "BOOT"),
        _("A part of it does not answer and is being started again."),
    ),
    "EVICTED": _("Our machine had no room left, so it was stopped."),
    **dict.fromkeys(("NODE_LOST", "NO_CAPACITY"), _("No machine has room for it. We are looking for one.")),
    **dict.fromkeys(("PORT", "BUSY", "STUCK"), _("Another program on our machine is blocking it.")),
    **dict.fromkeys(("CONFIG", "CONFIGURE"), _("It could not be set up as you want it.")),
    **dict.fromkeys(OUR_FAULTS, _("It could not be started. The fault is ours.")),
}


def is_stopping(agent: Agent) -> bool:
    return agent.status == Status.RUNNING and agent.desired == Desired.STOPPED


def status(agent: Agent) -> Promise:
    return _("stopping") if is_stopping(agent) else STATUSES[agent.status]


def cause(told: Explanation) -> str:
    """The cause in the reader's language. A cause without a translation is told in English."""
    # a quota of the cluster, about which the owner can do nothing
    if told.cause == "QUOTA" and told.status != Status.STOPPED:
        return str(CAUSES["ADMISSION"])
    return str(CAUSES.get(told.cause, told.message))


def remedy(told: Explanation, agent_id: str) -> str:
    """What to do next. Empty if all is well."""
    if told.next is None:
        return ""
    if told.next == renew_url(agent_id):
        return gettext("Pay for it, and it can be started again.")
    if told.cause == DATA_LOST:
        return gettext("Rebuild it: that restores its newest backup. Without a backup it begins with an empty disk.")
    if told.cause == DATA_DAMAGED:
        return gettext(
            "Rebuild it: that restores its newest whole backup. Without a backup it goes on with the data it has."
        )
    method, _, path = told.next.partition(" ")
    return _steps().get((method, path.partition("?")[0].removeprefix(f"/agents/{agent_id}")), "")


def _steps() -> dict[tuple[str, str], str]:
    """By the API call that helps."""
    wait = gettext("Wait a minute, then look again.")
    return {
        ("PATCH", "/llm-key"): gettext("Give it a working model key."),
        ("POST", "/resume"): gettext("Start it again."),
        ("POST", "/rebuild"): gettext("Rebuild it: its data stays."),
        ("PUT", "/channels"): gettext("Test it, or enter the secrets of the channel again."),
        ("GET", "/domain-check"): gettext("Set its address again in the DNS of the name."),
        ("POST", "/backups"): gettext("You can also back it up yourself."),
        ("PUT", "/domain"): gettext("Set the DNS record that proves it. We check again automatically."),
        ("POST", "/talk-test"): gettext("Test it: the test shows which part does not answer."),
        ("GET", "/quota"): gettext("See what it uses, and let it use less."),
        ("PATCH", ""): gettext("Take a larger plan."),
        ("GET", "/liveness"): wait,
        ("GET", ""): wait,
    }


def headline(term: Term, *, now: datetime) -> str:
    """The agent's term in one line."""
    match term.mode:
        case TermMode.INTERNAL:
            return gettext("Paid by us, without an end")
        case TermMode.PAID:
            return gettext("Paid until %(day)s") % {"day": day(term.paid_till or now)}
        case TermMode.TRIAL:
            return gettext("Free: %(left)s") % {"left": left(term, now=now)}
    return gettext("No longer paid: %(left)s") % {"left": left(term, now=now)}


def left(term: Term, *, now: datetime) -> str:
    """How long an unpaid agent still runs."""
    rest = (term.stops_at or now) - now
    if rest <= timedelta(0):
        return gettext("the time is over")
    if rest < DAY:
        hours = math.ceil(rest / HOUR)
        return ngettext("%(count)d hour left", "%(count)d hours left", hours) % {"count": hours}
    days = math.floor(rest / DAY + 0.5)  # rounded: a trial of seven days still shows seven a moment after its start
    return ngettext("%(count)d day left", "%(count)d days left", days) % {"count": days}


def consequence(term: Term, *, now: datetime) -> str:
    """What happens if nobody pays. Empty if it is paid."""
    if term.stops_at is None or term.deletes_at is None:
        return ""
    dates = {"stop": moment(term.stops_at), "deletion": moment(term.deletes_at)}
    if term.stops_at <= now:
        return gettext("Deleted with its data on %(deletion)s, unless it is paid for.") % dates
    return gettext("Stops on %(stop)s and is deleted with its data on %(deletion)s, unless it is paid for.") % dates


def day(at: datetime) -> str:
    return date_format(at, "DATE_FORMAT")


def moment(at: datetime) -> str:
    return f"{day(at)}, {at:%H:%M} UTC"


def paid_with(term: Term) -> str:
    return way_name(term.paid_provider) if term.paid_provider else ""


def amount(payment: Payment) -> str:
    """The amount in its own currency. Empty if no money moved."""
    if payment.amount is None:
        return ""
    if payment.currency == "usd":
        return usd(payment.amount / CENTS)
    if payment.currency == STARS:
        return ngettext("%(count)d star", "%(count)d stars", int(payment.amount)) % {"count": int(payment.amount)}
    if payment.currency in Asset.values and payment.order is not None:
        return f"{exact(payment.amount, payment.order.cryptoorder.decimals)} {payment.currency.upper()}"
    return f"{payment.amount} {payment.currency}"
