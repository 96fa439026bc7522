"""A world in which people pay, and a stage: a process whose forks receive the news of the payments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
from django.conf import settings
from pytest_django import DjangoDbBlocker

from tests.agents.conftest import MakeAgent
from tests.billing.conftest import Clock
from tests.billing.replaying.scenes import ProviderWorld
from tests.billing.replaying.stage import ProcessEnd, WorkOrder, WorkProcess
from tests.doubles.chain import Chain
from tests.doubles.gumroad_server import GumroadServer
from tests.doubles.lemonsqueezy_server import LemonSqueezyServer
from tests.doubles.telegram_payments_server import TelegramPayments
from tests.workers import database_url

Act = Callable[..., list[ProcessEnd]]
NO_MAIL = "django.core.mail.backends.dummy.EmailBackend"
PROVIDERS = ("GUMROAD_", "LEMONSQUEEZY_", "STARS_", "STRIPE_", "TELEGRAM_API", "CRYPTO_")


@pytest.fixture(scope="session")
def stage(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[WorkProcess]:
    with django_db_blocker.unblock():
        url = database_url()
    with WorkProcess({"DATABASE_URL": url}) as processes:
        yield processes


@pytest.fixture
def world(
    transactional_db: None,
    make_agent: MakeAgent,
    clock: Clock,
    gumroad: GumroadServer,
    lemon: LemonSqueezyServer,
    telegram: TelegramPayments,
) -> ProviderWorld:
    telegram.lost = True
    return ProviderWorld(make_agent, gumroad, lemon, telegram, clock)


@pytest.fixture
def chain_world(world: ProviderWorld, coins: Chain) -> ProviderWorld:
    world.chain = coins
    return world


@pytest.fixture
def act(stage: WorkProcess, world: ProviderWorld) -> Act:
    """`act(told, now=…)` runs these requests and tasks in processes with the settings of this test."""

    def acted(told: Sequence[WorkOrder], *, now: datetime, **how: Any) -> list[ProcessEnd]:
        return stage.run(told, settings=providers(), now=now, **how)

    return acted


def providers() -> dict[str, Any]:
    """The settings that name our payment providers; mails are not sent."""
    names = [name for name in dir(settings) if name.startswith(PROVIDERS)]
    return {name: getattr(settings, name) for name in names} | {"EMAIL_BACKEND": NO_MAIL}
