"""Random histories of several agents through the public interface, compared with a model written from the rules.

Quotes, ends of paid time, plans, the ledger, invoices and reports must equal the model's, to the second and the cent.
`HISTORY_SEEDS=1-50 HISTORY_STEPS=40 make test-slow ARGS=tests/billing/histories` runs other histories. A failure prints
its seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from billing.models import (
    Coupon,
    TaxRate,
)
from tests import at_length
from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock
from tests.billing.histories.agreeing import Agreeing
from tests.billing.histories.banks import Banks
from tests.billing.histories.by_hand import ByHand
from tests.billing.histories.choosing import Choosing
from tests.billing.histories.ground import Doubles
from tests.billing.histories.memberships import Memberships
from tests.billing.licences import PLENTY
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import API_KEY, LemonSqueezyServer
from tests.doubles.stripe_server import StripeDouble
from tests.doubles.telegram_payments_server import TelegramPayments

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

FEW, STEPS = (6,), int(os.environ.get("HISTORY_STEPS", "30" if at_length.IS_ON else "12"))


def seeds() -> list[int]:
    first, _, last = os.environ.get("HISTORY_SEEDS", "7-20").partition("-")
    return list(range(int(first), int(last or first) + 1))


class HistoryWorld(Choosing, Memberships, Banks, ByHand, Agreeing):
    def step(self) -> None:
        self.live(self.clock.now + self.some_time(), lazy=self.chance.random() < 0.3)
        if not self.alive():
            self._new()
        acts = [
            (5, self.coins),
            (3, self.stars),
            (4, self.card),
            (2, self.key),
            (2, self.credit),
            (2, self.refund_one),
            (1, self.refund_all),
            (1, self.part),
            (1, self.star_back),
            (1, self.card_back),
            (1, self.fail_back),
            (2, self.dispute),
            (2, self.decide),
            (1, self.appeal),
            (1, self.suspend),
            (1, self.delete),
            (2, self.move),
            (1, self.key_over),
            (1, self.key_again),
            (1, self.grant),
            (3, self.retry),
            (1, self.cancel_key),
            (1, self.outage),
            (1, self.portal),
            (8, self.choose_smaller),
            (1, self.keep_plan),
        ]
        act = self.chance.choices([one for _, one in acts], [weight for weight, _ in acts])[0]
        if not self.is_active() and act in self.owners():
            act = self.suspend
        self.forget_choices()
        act()
        self.agree()
        self.agree_on_choices()

    def owners(self) -> list[Callable[[], None]]:
        """The actions that a suspended account cannot do; operators, shops, Stripe and banks continue."""
        buys = [self.coins, self.stars, self.card, self.key, self.key_again]
        return [*buys, self.delete, self.move, self.choose_smaller, self.keep_plan]

    def finish(self) -> None:
        if not self.is_active():
            self.suspend()
        self._tick()
        self.books()
        self.agree_on_memberships()


@pytest.fixture
def doubles(
    coins: Chain,
    telegram: TelegramPayments,
    gumroad: GumroadServer,
    lemon: LemonSqueezyServer,
    stripe: StripeDouble,
    settings: Any,
) -> Doubles:
    settings.LEMONSQUEEZY_API_KEY, settings.LEMONSQUEEZY_API_REQUESTS_PER_MINUTE = API_KEY, PLENTY
    settings.SELLER_NAME, settings.SELLER_ADDRESS, settings.SELLER_COUNTRY = "Pods Ltd", "1 Road", "IE"
    settings.MAX_FREE_AGENTS = 1000
    TaxRate.objects.create(country="", name="VAT", percent=Decimal(19))
    Coupon.objects.create(code="HALF", percent=50, uses_of_account=1000)
    Coupon.objects.create(code="NINETY", percent=90, uses_of_account=1000)
    return Doubles(coins=coins, telegram=telegram, gumroad=gumroad, lemon=lemon, stripe=stripe)


@pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in seeds() if seed not in FEW)]
)
def test_a_random_history_is_what_the_rules_say(
    seed: int, doubles: Doubles, clock: Clock, make_agent: MakeAgent, owner: User, admin_client: Client
) -> None:
    world = HistoryWorld(seed, clock, make_agent, owner, admin_client, doubles)
    try:
        for _ in range(STEPS):
            world.step()
        world.finish()
    except BaseException as error:
        error.add_note("\n".join([f"seed {seed}", *world.log]))
        raise
