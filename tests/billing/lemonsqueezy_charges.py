"""A month that Lemon Squeezy sells and renews."""

from __future__ import annotations

from agents.models import Agent
from billing.models import Payment
from billing.vocabulary import Provider
from tests.billing.conftest import NOON, Clock
from tests.billing.licences import LEMON, activate, check
from tests.doubles.lemonsqueezy_server import LemonSqueezyLicence, LemonSqueezyServer

BOUGHT, RENEWED = "2026-11-21T12:00:00.000000Z", "2026-12-21T12:05:00.000000Z"
SECOND, THIRD = "2027-01-21T12:00:00.000000Z", "2027-02-21T12:00:00.000000Z"


def sell_a_month(agent: Agent, lemon: LemonSqueezyServer, clock: Clock) -> LemonSqueezyLicence:
    """A month for $9.00 plus $1.80 of taxes; the taxes are never ours."""
    licence = lemon.sell(LEMON)
    licence.charge(BOUGHT, 1080, tax=180)
    activate(agent, clock, LEMON, Provider.LEMONSQUEEZY)
    return licence


def renew(licence: LemonSqueezyLicence, clock: Clock) -> None:
    clock.at(NOON.replace(month=12, hour=13))
    licence.expires_at = SECOND
    licence.charge(RENEWED, 1080, tax=180)
    check(clock)


def amounts(agent: Agent) -> list[tuple[str, int | None]]:
    rows = Payment.objects.filter(agent=agent).order_by("at", "external_id").values_list("kind", "amount")
    return [(kind, None if amount is None else int(amount)) for kind, amount in rows]
