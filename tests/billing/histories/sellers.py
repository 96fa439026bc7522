"""The sellers of memberships: actions of their buyers and sellers, and the doubles' later reports of these actions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol

from tests.billing.conftest import Clock
from tests.billing.histories.model import month_after
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyLicence, LemonSqueezyServer

PRODUCTS = {"tiny": "prod-tiny==", "small": "prod-tiers=="}
VARIANTS = {"tiny": 101, "small": 102}
LATE = [timedelta(0), timedelta(hours=3), timedelta(days=4)]


class Seller(Protocol):
    name: str
    late: list[timedelta]  # how much later than its month a cancelled membership may end

    def sell(self, text: str, tier: str, cents: int) -> str:
        """Sell a key. Returns its name in the ledger."""
        ...

    def refund(self, text: str, *, ends: bool) -> None:
        """Refund as this seller does; with `ends` the membership is not charged any more."""
        ...

    def cancel(self, text: str, *, till: datetime) -> None: ...


class Gumroads:
    """Gumroad: it counts the end of a cancelled membership from the last charge, which may have been late."""

    name, late = "gumroad", LATE

    def __init__(self, double: GumroadServer, clock: Clock) -> None:
        self.double, self.clock = double, clock

    def sell(self, text: str, tier: str, cents: int) -> str:
        sold = self.double.sell(text, PRODUCTS[tier], sold_at=f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}")
        sold.purchase = {"price": cents} | ({"variants": "(Small)"} if tier == "small" else {})
        return f"membership-{sold.number}"

    def refund(self, text: str, *, ends: bool) -> None:
        over = {"subscription_cancelled_at": f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}"} if ends else {}
        self._change(text, refunded=True, **over)

    def cancel(self, text: str, *, till: datetime) -> None:
        self._change(text, subscription_cancelled_at=f"{till:%Y-%m-%dT%H:%M:%SZ}")

    def _change(self, text: str, **changes: object) -> None:
        sold = self.double.sales[text]
        sold.purchase = {**sold.purchase, **changes}


class Lemons:
    """Lemon Squeezy: it charges each month as time passes, and reports every charge."""

    name, late = "lemonsqueezy", LATE[:1]

    def __init__(self, double: LemonSqueezyServer, clock: Clock) -> None:
        self.double, self.clock = double, clock
        self.ended = set[int]()
        double.before = lambda path: self._charge()

    def sell(self, text: str, tier: str, cents: int) -> str:
        at = _told(self.clock.now)
        licence = self.double.sell(text, VARIANTS[tier], created_at=at, expires_at=at)
        licence.charge(at, cents)
        self._charge()
        return str(300 + licence.number)

    def refund(self, text: str, *, ends: bool) -> None:
        self._charge()
        licence = self.double.licences[text]
        licence.charges[-1].give_back()
        self.ended.add(licence.number)

    def cancel(self, text: str, *, till: datetime) -> None:
        self._charge()
        self.double.licences[text].cancelled = True

    def _charge(self) -> None:
        for licence in list(self.double.licences.values()):
            if licence.number not in self.ended:
                self._charge_for(licence)

    def _charge_for(self, licence: LemonSqueezyLicence) -> None:
        sold, count = datetime.fromisoformat(licence.created_at), len(licence.charges)
        while (end := month_after(sold, count, sold.day)) <= self.clock.now:
            if licence.cancelled:
                licence.status = "expired"
                break
            licence.charge(_told(end), licence.charges[0].cents)
            count += 1
        licence.expires_at = _told(end)


def _told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
