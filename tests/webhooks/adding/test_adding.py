"""An event type is two lines and a rule that emits it: this one is signed, delivered and shown like any other."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from agents.models import Agent
from tests.doubles.receiver import Receiver
from tests.pages.account.visitor import Visitor, text
from tests.webhooks.adding.renaming import rename
from webhooks import delivery_loop

pytestmark = pytest.mark.usefixtures("its_choice")
NEW = "agent.renamed"


@pytest.fixture
def secret(transactional_db: None, client: APIClient, running: Agent, receiver: Receiver) -> str:
    """The agent has a webhook; this is its secret."""
    webhook = client.put(f"/agents/{running.pk}/webhook", {"url": receiver.url}, format="json").json()["webhook"]
    assert webhook["events"][-1] == NEW
    return str(webhook["secret"])


@pytest.fixture
def renamed(secret: str, running: Agent) -> Agent:
    """The agent, after its event was delivered."""
    agent = rename(running, name="Grace", actor=f"user:{running.user_id}", now=timezone.now())
    delivery_loop.drain(ahead=timedelta(0))
    return agent


def test_it_is_delivered_and_signed(renamed: Agent, secret: str, receiver: Receiver) -> None:
    (request,) = receiver.received
    body = json.loads(request.body)
    signature = hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()
    assert request.header("X-Service-Event") == body["type"] == NEW
    assert request.header("X-Service-Delivery") == body["id"]
    assert request.header("X-Service-Signature") == f"sha256={signature}"
    assert body["data"] == {"from": "Study Buddy", "to": "Grace"}
    assert body["agent"]["name"] == "Grace"


def test_the_api_lists_it(client: APIClient, renamed: Agent, receiver: Receiver) -> None:
    sent = json.loads(receiver.received[0].body)
    assert client.get(f"/agents/{renamed.pk}/events").json()["events"][-1] == sent
    (delivery,) = client.get(f"/agents/{renamed.pk}/webhook/deliveries").json()["deliveries"]
    assert (delivery["id"], delivery["type"], delivery["state"]) == (sent["id"], NEW, "delivered")
    assert client.get(f"/agents/{renamed.pk}").json()["agent"]["webhookLastEvent"] == NEW


def test_its_owners_pages_name_it(owner: User, renamed: Agent) -> None:
    visitor = Visitor(owner)
    assert "The agent was renamed" in text(visitor.open(f"/account/agents/{renamed.pk}/events"))
    webhook = text(visitor.open(f"/account/agents/{renamed.pk}/webhook"))
    assert "The agent was renamed delivered" in webhook
    assert webhook.count("The agent was renamed") == 3  # among the types, the delivery, and its button's label


def test_the_console_shows_it_and_the_note_on_the_timeline(renamed: Agent) -> None:
    console = Client()
    console.force_login(User.objects.create_superuser("operator@example.com", "a long password"))
    listed = console.get("/admin/webhooks/event/", {"type__exact": NEW})
    assert "1 event" in listed.content.decode()
    assert "renamed" in console.get(f"/admin/agents/agent/{quote(renamed.pk)}/change/").content.decode()


def test_the_description_of_the_api_has_it(client: APIClient) -> None:
    described: dict[str, Any] = client.get("/openapi.json").json()
    operation = described["webhooks"][NEW]["post"]
    assert (operation["operationId"], operation["summary"]) == ("receiveAgentRenamed", "The agent got another name")
    (example,) = operation["requestBody"]["content"]["application/json"]["examples"].values()
    assert (example["value"]["type"], example["value"]["data"]) == (NEW, {"from": "Ada", "to": "Grace"})
    assert NEW in described["components"]["schemas"]["WebhookEvent"]["properties"]["type"]["enum"]
    assert "The agent got another name" in client.get("/docs/events").content.decode()


def test_the_migration_changes_choices_alone(db: None) -> None:
    """No table is touched."""
    told = StringIO()
    call_command("makemigrations", "webhooks", dry_run=True, verbosity=3, stdout=told)
    assert NEW in told.getvalue()
    assert told.getvalue().count("migrations.AlterField") == 1
    assert told.getvalue().count("    ~ ") == 1
