"""Licences whose money goes back, as scenes (scenes.py)."""

from __future__ import annotations

from billing.models import Subscription
from tests.billing.conftest import DAY, NOON
from tests.billing.replaying.scenes import DUE, MINUTE, STEP, Make, ProviderWorld, Scene, activate, buys, ping


def gumroad_refunded(world: ProviderWorld) -> Scene:
    """The licence is over. Its provider is still asked, because the card may be charged again."""
    agent, key = world.agent(), f"GUM-{next(world.numbers)}"
    sale = world.gumroad.sell(key)
    activate(buys(agent, key, "gumroad"))
    sale.purchase = {"refunded": True}

    def check() -> None:
        row = Subscription.objects.get(agent=agent)
        rows = sorted((one.kind, int(one.amount or 0)) for one in agent.payments.all())
        assert (row.status, rows) == ("expired", [("payment", 500), ("revoke", 500)])
        assert row.check_at is not None

    again = [[ping(key), DUE, STEP], [DUE, STEP]]
    return Scene(told=[ping(key), DUE], again=again, check=check, now=NOON + DAY, wait=6 * MINUTE, agents=[agent])


ENDINGS: list[Make] = [gumroad_refunded]
