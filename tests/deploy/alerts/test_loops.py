"""Workers, beat and their queues are really stopped: the alert fires, its runbook is followed, and the alert ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from celery import current_app
from django.utils import timezone
from rest_framework.test import APIClient

from accounts import letters
from accounts.models import Letter, User
from agents.models import Agent
from config.celery import BEAT
from status import loops
from tests.deploy.alerts.conftest import WatchedPlatform
from tests.deploy.alerts.judging import command_of, managed, page, says
from tests.doubles.receiver import Receiver
from tests.doubles.smtp_server import SmtpServer
from tests.patience import wait_until
from tests.ports import free_port
from tests.status.conftest import fresh_look
from tests.webhooks.conftest import agent_of, delivery_of, emit
from tests.workers import ROOT, Workers
from webhooks import hooks

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured, pytest.mark.django_db(transaction=True)]

AGO = timedelta(minutes=20)
SECONDS = 60
OFTEN = [name for name, (_, seconds, _) in BEAT.items() if seconds <= 10]
QUEUES = {queue for _, _, queue in BEAT.values()}
TO_LOOPBACK = {"WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8"}


def test_process_down(watched: WatchedPlatform, celery: Workers) -> None:
    environment = {"METRICS_PORT": str(port := free_port())}
    worker = celery.start("default", environment=environment)
    watched.process("worker", port)
    assert "ProcessDown" not in watched.fires()
    worker.send_signal(signal.SIGSTOP)
    assert "ProcessDown" in watched.fires()
    says("ProcessDown", "It hangs: delete its pod")
    worker.kill()
    worker.wait()
    celery.start("default", environment=environment)
    assert "ProcessDown" not in watched.fires()


def test_beat_silent(watched: WatchedPlatform, celery: Workers, api: APIClient) -> None:
    def late() -> set[str]:
        fresh_look()
        return {one["id"] for one in api.get("/status").json()["components"] if one["status"] != "ok"} & set(BEAT)

    environment = {"METRICS_PORT": str(port := free_port())}
    beat = celery.beat(environment=environment)
    watched.process("beat", port)
    assert "BeatSilent" not in watched.fires()
    for name in BEAT:  # it was killed some days ago
        loops.record(name, now=timezone.now() - timedelta(days=4))
    beat.kill()
    beat.wait()
    assert "BeatSilent" in watched.fires()
    says("BeatSilent", "are all loops late? Then beat is dead", "Delete beat's pod")
    assert late() == set(BEAT)
    celery.beat(environment=environment)
    celery.start(*QUEUES)
    wait_until(lambda: not late() & set(OFTEN), SECONDS)
    assert "BeatSilent" not in watched.fires()


def test_loop_late(watched: WatchedPlatform, celery: Workers) -> None:
    def late() -> set[str]:
        return {name for name in BEAT if page()[f'agentpods_loop_late{{loop="{name}"}}']}

    for name in BEAT:
        loops.record(name, now=timezone.now() - (AGO if name in OFTEN else timedelta()))
    celery.beat()
    assert "LoopLate" in watched.fires()
    says("LoopLate", "one loop or all? All: beat or the workers", "`agentpods_queue_length` of its queue")
    assert late() >= set(OFTEN)
    wait_until(lambda: page()['agentpods_queue_length{queue="lifecycle"}'] > 0, SECONDS)  # so beat is not the cause
    celery.start(*QUEUES)
    wait_until(lambda: not late(), SECONDS)
    assert "LoopLate" not in watched.fires()


def test_queue_long(watched: WatchedPlatform, celery: Workers, receiver: Receiver, owner: User) -> None:
    hooked = agent_of(owner, receiver.url)
    event = emit(hooked)
    for _ in range(1_100):
        current_app.send_task("webhooks.purge", queue="webhooks")
    assert "QueueLong" in watched.fires()
    says("QueueLong", "You may empty a queue of Redis", "the database knows what is due, and beat asks again")
    empty = command_of("QueueLong", "celery ").replace("QUEUE", "webhooks").split()
    subprocess.run([sys.executable, "-m", *empty], cwd=ROOT, check=True, capture_output=True)
    assert "QueueLong" not in watched.fires()
    assert not receiver.received
    celery.beat()
    celery.start("webhooks", environment=TO_LOOPBACK)
    wait_until(lambda: delivery_of(event).state == "delivered", SECONDS)


def test_work_overdue(
    watched: WatchedPlatform, running: Agent, owner: User, receiver: Receiver, smtp: SmtpServer
) -> None:
    due = timezone.now() - AGO
    for work in ("agents", "letters", "deliveries"):
        if work == "agents":
            Agent.objects.filter(pk=running.pk).update(reconcile_at=due)
        elif work == "letters":
            letters.write(owner, subject="A word", text="Hello.", lang="en")
            Letter.objects.update(mail_due_at=due)
        else:
            hooks.install(running, url=receiver.url, now=due)
            emit(running, now=due)
        assert "WorkOverdue" in watched.fires(), work
        says("WorkOverdue", "does all due work once and prints what fails", f"`{work}`")
        assert "left, agents due: 0" in managed("WorkOverdue")
        assert "WorkOverdue" not in watched.fires(), work
    assert [len(smtp.mails), len(receiver.received)] == [1, 1]
