"""Texts for agents, terms and payments on the pages: states, causes, dates, kinds of payment."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from agents.cause import Cause
from agents.errors import renew_url
from agents.models import Agent, Desired, Status
from agents.watching.causes import Explanation
from billing.models import Payment
from billing.providers.page import page_of
from billing.term import Term
from billing.vocabulary import PaymentKind, Period, TermMode
from pages.account.names import way_name
from pages.words import usd

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
    *(Cause.ADMISSION, Cause.BAD_NAME, Cause.CLUSTER, Cause.CREDENTIALS, Cause.DELETING, Cause.ENGINE, Cause.FORBIDDEN),
    *(Cause.IMAGE_PULL, Cause.INVALID, Cause.NOT_OURS, Cause.NO_ADDRESS, Cause.SECRET_LOST, Cause.VOLUME),
)
# agents/watching/explanation.py has the detailed causes in English. These are the short texts for people.
CAUSES: dict[str, Promise] = {
    Cause.OK: _("Everything is fine: the agent runs and has a model key."),
    Cause.KEY_UNCHECKED: _(
        "The agent runs. Its model key could not be checked: the first answer shows whether it works."
    ),
    Cause.UNPAID: _("It is not paid for any more."),
    Cause.NO_MODEL_KEY: _("The agent runs but says nothing, because it has no model key."),
    Cause.SPENDING_LIMIT: _("It has reached a limit of what it may spend on its model."),
    Cause.CALLS_STOPPED: _("You have stopped its calls to the model."),
    Cause.OWNER: _("You paused it. Its data is kept."),
    Cause.OPERATOR: _("We paused it, not you. Its data is kept."),
    Cause.TRIAL: _("Its free time is over. Its data is kept for now."),
    Cause.PAYMENT: _("The paid time is over. Its data is kept for now."),
    Cause.QUOTA: _("It was stopped because its memory or disk was full for an hour. Its data is kept."),
    Cause.SUSPENDED: _("It was stopped with the account. Its data is kept."),
    Cause.INSTALLING: _("Its engine is being installed."),
    Cause.STARTING: _("It is being started."),
    Cause.STOPPING: _("It is being stopped."),
    Cause.POD_LOST: _("The space it ran in is gone. We are setting up a new one."),
    **dict.fromkeys(
        (Cause.GATEWAY_DOWN, Cause.GATEWAY_OUTDATED),
        _("Its gateway, the program that passes messages to it, does not answer and is being started again."),
    ),
    Cause.ENGINE_DOWN: _("Its engine does not answer and is being started again."),
    Cause.ENGINE_HUNG: _("Its engine hangs and is being started again."),
    Cause.QUOTA_GRACE: _("Its memory or disk is full. It will be stopped within the hour unless it uses less."),
    Cause.QUOTA_WARN: _("Its memory or disk is nearly full."),
    Cause.MODEL_UNREACHABLE: _("It runs, but the provider of its model does not answer."),
    Cause.MODEL_REFUSED: _("It runs, but the provider refuses the model or the request."),
    Cause.MODEL_KEY_REFUSED: _("It runs, but the provider refuses its model key."),
    Cause.MODEL_LIMIT: _("It runs, but the model key has reached a limit at the provider."),
    Cause.MODEL_FAILING: _("It runs, but its model fails."),
    Cause.INSTALL: _("Its engine could not be installed."),
    Cause.CRASH_LOOP: _("Its engine crashes again and again."),
    Cause.OOM: _("Its engine needs more memory than the plan has."),
    Cause.DISK_FULL: _("Its disk is full."),
    Cause.DATA_LOST: _("Its disk is empty, although it had data before. We did not start it."),
    Cause.DATA_DAMAGED: _("Its data is damaged. We did not start it."),
    Cause.RESTORE: _("The backup could not be restored. Its data has not changed."),
    Cause.BACKUP_FAILED: _("Its last backup failed. It is tried again by itself."),
    Cause.DOMAIN_UNPROVED: _("It runs, but it is not proved yet that its domain is yours."),
    Cause.DOMAIN_ELSEWHERE: _("It runs, but its domain leads elsewhere."),
    Cause.CHANNEL_SILENT: _("It runs, but it gets no messages on one of its channels."),
    Cause.CERTIFICATE: _("It runs, but browsers do not trust its certificate and warn its visitors."),
    Cause.BOOT_TIMEOUT: _("It did not start in time."),
    **dict.fromkeys(
        (Cause.GATEWAY_HUNG, Cause.BRIDGE_HUNG, Cause.BRIDGE_DIED, Cause.POD_DIED, Cause.ENGINE_DIED, Cause.BOOT),
        _("A part of it does not answer and is being started again."),
    ),
    Cause.EVICTED: _("Our machine had no room left, so it was stopped."),
    **dict.fromkeys((Cause.NODE_LOST, Cause.NO_CAPACITY), _("No machine has room for it. We are looking for one.")),
    **dict.fromkeys((Cause.PORT, Cause.BUSY, Cause.STUCK), _("Another program on our machine is blocking it.")),
    **dict.fromkeys((Cause.CONFIG, Cause.CONFIGURE), _("It could not be set up as you want it.")),
    **dict.fromkeys(OUR_FAULTS, _("It could not be started. The fault is ours.")),
}


def is_stopping(agent: Agent) -> bool:
    return agent.status == Status.RUNNING and agent.desired == Desired.STOPPED


def status(agent: Agent) -> Promise:
    return _("stopping") if is_stopping(agent) else STATUSES[agent.status]


def cause(told: Explanation) -> str:
    """The cause in the reader's language. A cause without a translation is told in English."""
    # a quota of the cluster, about which the owner can do nothing
    if told.cause == Cause.QUOTA and told.status != Status.STOPPED:
        return str(CAUSES[Cause.ADMISSION])
    return str(CAUSES.get(told.cause, told.message))


def remedy(told: Explanation, agent_id: str) -> str:
    """What to do next. Empty if all is well."""
    if told.next is None:
        return ""
    if told.next == renew_url(agent_id):
        return gettext("Pay for it, and it can be started again.")
    if told.cause == Cause.DATA_LOST:
        return gettext("Rebuild it: that restores its newest backup. Without a backup it begins with an empty disk.")
    if told.cause == Cause.DATA_DAMAGED:
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
    page = page_of(payment.provider)
    return page.amount(payment) if page else f"{payment.amount} {payment.currency}"
