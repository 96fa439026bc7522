"""Mail servers and name servers really fail: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import letters
from accounts.models import Letter, User
from status.models import Incident
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import says
from tests.doubles.name_server import FAILURE, NameServer
from tests.doubles.receiver import Receiver
from tests.doubles.smtp_server import SmtpServer
from tests.operating import act
from tests.webhooks.conftest import HookClock, agent_of, delivery_of, emit

pytestmark = pytest.mark.slow

DELIVERIES = "/admin/webhooks/delivery/"


@pytest.mark.django_db
def test_mail_failing(
    watched: WatchedPlatform, console: Client, smtp: SmtpServer, owner: User, caplog: pytest.LogCaptureFixture
) -> None:
    smtp.replies["DATA"] = "452 the disk is full"
    letters.write(owner, subject="A word", text="Hello.", lang="en")
    letters.send_due(now=timezone.now())
    assert "MailFailing" in watched.fires()
    says("MailFailing", "`the mail server failed`, with the code of its answer", "write an incident in the admin")
    assert f"the mail server failed (127.0.0.1:{smtp.port}: SMTPDataError 452)" in caplog.text
    began = {"title": "No codes by mail", "status": "identified", "components": ["mail"]}
    console.post("/admin/status/incident/add/", {**began, "started_at_0": "2026-11-21", "started_at_1": "12:00"})
    assert Incident.objects.get().components == ["mail"]
    says("MailFailing", "Repair the server", "waiting mails go out by themselves")
    smtp.replies.clear()
    due = Letter.objects.get().mail_due_at
    assert due
    letters.send_due(now=due)
    assert len(smtp.mails) == 1
    assert "MailFailing" not in watched.fires()


@pytest.mark.django_db(transaction=True)
def test_deliveries_failing(
    watched: WatchedPlatform,
    console: Client,
    owner: User,
    receiver: Receiver,
    settings: Any,
    clock: HookClock,
    deliver: Callable[[], int],
) -> None:
    hosts = [f"shop-{number}.example" for number in range(8)]
    with NameServer().listening() as names:
        settings.WEBHOOK_NAMESERVERS = [names.address]
        for host in hosts:
            names.answers(host, FAILURE)
        events = [emit(agent_of(owner, f"http://{host}:{receiver.port}/hook"), now=clock.now) for host in hosts]
        for seconds in (10, 60, 0):
            assert deliver() == len(hosts)
            clock.forward(seconds)
        assert "DeliveriesFailing" in watched.fires()
        says("DeliveriesFailing", "`dns`, `connect` and `tls` for many receivers", "By receiver: is it one host?")
        shown = console.get(f"{DELIVERIES}?error=dns").content.decode()
        assert all(host in shown for host in hosts)
        says("DeliveriesFailing", "the name servers (`WEBHOOK_NAMESERVERS`)", "*Resend deliveries* in the admin")
        for host, event in zip(hosts, events, strict=True):
            names.answers(host, ["127.0.0.1"])
            act(console, DELIVERIES, "resend_deliveries", delivery_of(event))
        clock.now = max(clock.now, timezone.now())
        assert deliver() == len(hosts)
    assert len(receiver.received) == len(hosts)
    assert "DeliveriesFailing" not in watched.fires()
