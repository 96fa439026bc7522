"""Each client drives every operation of the API on a running service: both halves of the Python SDK, and TypeScript."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts import sessions
from accounts.models import User
from agents.backups import downloading
from agents.models import Agent
from sdk.generate import operations as generated
from sdk.generate.operations import snake
from tests.agents.conftest import PERSONA, GatewayOf, MakeAgent, settle
from tests.doubles.mcp_http import McpHttpServer
from tests.doubles.receiver import Receiver
from tests.sdk.conftest import LiveService, Opens
from tests.sdk.driving import typescript
from tests.sdk.driving.client import DrivenClient, operations
from tests.sdk.life import owning, paying, reading, writing
from tests.sdk.life.paying import Shops

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unmeasured]

ARCHIVE = b"the archive"
CALLED_BY_OTHERS = {  # not driven: payment providers and Meta make these calls, with signatures and secrets of theirs
    "createPaymentCallback", "createPaymentStarsCallback", "createPaymentStripeCallback", "receiveWhatsappMessages",
    "verifyWhatsappWebhook",
}  # fmt: skip
OF_MONEY = {  # the second test drives these, the first one all others
    "create_crypto_order", "get_crypto_order", "create_stars_order", "get_stars_order", "create_stripe_order",
    "get_stripe_order", "open_stripe_portal", "get_invoice", "get_invoice_pdf", "create_subscription",
    "cancel_subscription", "create_subscription_move", "get_subscription_next_plan", "set_subscription_next_plan",
    "delete_subscription_next_plan", "get_subscription_quote",
}  # fmt: skip


@pytest.fixture
def person(opens: Opens, service: LiveService, owner: User, worker: None) -> Iterator[DrivenClient]:
    """The client of somebody who has signed in: only they make keys."""
    token = sessions.start(owner, attribution=None, now=timezone.now())[1]
    with opens(service.url, token) as client:
        yield client


@contextmanager
def a_store(settings: Settings, there: Path) -> Iterator[None]:
    """An installation with a place for backups. The program that packs one writes ARCHIVE.

    Only for a while: later each rebuild and each deletion would wait for a backup.
    """

    def started(*_: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["/usr/bin/printf", ARCHIVE.decode()], stdout=subprocess.PIPE, bufsize=0)

    before, settings.BACKUP_STORE, settings.BACKUP_URL = settings.BACKUP_STORE, str(there), "http://127.0.0.1:9"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(downloading, "_started", started)
        yield
    settings.BACKUP_STORE = before


def test_nothing_is_left_out_but_what_other_services_call() -> None:
    document = typescript.document()
    there = {operation["operationId"] for path in document["paths"].values() for operation in path.values()}
    assert there - CALLED_BY_OTHERS == {operation.id for operation in generated.operations(document)}
    assert {snake(name) for name in there - CALLED_BY_OTHERS} == operations()


def test_a_client_drives_every_operation_that_costs_nothing(
    person: DrivenClient,
    receiver: Receiver,
    gateway_of: GatewayOf,
    mcp: McpHttpServer,
    settings: Settings,
    tmp_path: Path,
) -> None:
    settings.SHOW_DEV_CODES = True
    reading.reads_what_there_is(person)
    wanted = {"personaId": PERSONA, "tier": "tiny"}
    made = person.api.create_agent(wanted, wait=30)["agent"]["id"]  # type: ignore[arg-type]  # a dict
    gateway_of(Agent.objects.get(pk=made), peer_networks=["127.0.0.0/8"])
    owning.talks(person, made)
    owning.configures(person, made)
    owning.uses_tools(person, made, mcp)
    owning.sets_bounds(person, made)
    owning.is_told(person, made, receiver)
    with a_store(settings, tmp_path / "store"):
        owning.keeps_its_data(person, made, ARCHIVE, tmp_path / "archive.tar.gz")
    writing.writes_personas(person)
    reading.keeps_accounts(person)
    owning.rests(person, made)
    reading.signs_in(person)
    assert operations() - person.driven == OF_MONEY


def test_a_client_drives_every_operation_of_money(person: DrivenClient, shops: Shops, make_agent: MakeAgent) -> None:
    by_card, by_coin, by_key = (settle(make_agent(name=name)).pk for name in ("Ann", "Bo", "Cy"))
    paying.pays_with_stars(person, by_coin, shops.telegram)
    paying.pays_with_a_coin(person, by_coin, shops.coins)
    paying.pays_with_a_key(person, by_key, shops.gumroad)
    subscription = paying.pays_by_card(person, by_card, shops.stripe)
    paying.reads_invoices(person)
    paying.chooses_the_next_plan(person, subscription)
    paying.cancels_and_moves(person, subscription, of=by_card, to=by_coin)
    assert person.driven >= OF_MONEY
