"""/account/data: people download everything that we store about them."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts import keys
from accounts.models import Letter, User
from agents.models import Agent
from billing.leaving import exports, packing
from billing.models import DataExport
from config import personal
from tests.billing.conftest import NOON, Clock, Pay
from tests.pages.account.visitor import Visitor, shown, text

PATH = "/account/data"


def opened(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    return {name: json.loads(file) if name.endswith(".json") else file for name, file in files.items()}


def test_a_person_asks_is_told_and_takes_their_data_along_without_secrets(
    clock: Clock, owner: User, stranger: User, running: Agent, pay: Pay
) -> None:
    running.extra_soul, running.channel_secrets = "I like cats.", {"telegramToken": "123:secret-of-telegram"}
    running.llm_key, running.mcp_servers = "sk-secret", [{"name": "files", "env": {"TOKEN": "secret-of-mcp"}}]
    running.save()
    _, secret = keys.create(owner, name="laptop", now=timezone.now())
    pay(running)
    visitor = Visitor(owner)
    waiting = visitor.follow(visitor.send(visitor.open(PATH), PATH))
    assert "is being made" in text(waiting)
    assert not waiting.all("form", action=PATH)
    assert exports.make_due(now=clock.now) == 1
    assert Letter.objects.get(subject="Your data is ready").text.count(PATH) == 1
    page = visitor.open(PATH)
    assert page.all("a", href=f"/account/agents/{running.pk}/backups")  # the conversations are in the backups
    place = page.one("a", download="").attributes["href"]
    answer = visitor.client.get(place)
    found = opened(answer.content)
    assert found["profile.json"][0]["email"] == owner.email
    assert found["agents.json"][0]["extra_soul"] == "I like cats."
    assert found["agents.json"][0]["secrets_set"] == ["telegramToken"]
    assert found["agents.json"][0]["mcp_servers"] == ["files"]
    assert [row["price_usd"] for row in found["payments.json"]] == ["5.00"]
    assert {"agent.running", "payment.confirmed"} <= {row["type"] for row in found["events.json"]}
    everything = json.dumps(found)
    for hidden in (secret, "secret-of-telegram", "secret-of-mcp", "sk-secret", running.management_token):
        assert hidden not in everything
    assert all(f"{name[:-5]}" in found["README.txt"] for name in found if name.endswith(".json"))
    assert Visitor(stranger).client.get(place).status_code == 404
    assert Visitor().client.get(place).status_code == 303
    exports.make_due(now=clock.go(timedelta(days=7, seconds=1)))
    assert Visitor(owner).client.get(place).status_code == 404
    assert not DataExport.objects.exists()


def test_three_files_a_day_and_one_at_a_time(clock: Clock, owner: User) -> None:
    first = exports.ask(owner, lang="en", now=NOON)
    assert exports.ask(owner, lang="en", now=NOON) == first
    for _ in range(3):
        exports.ask(owner, lang="en", now=clock.now)
        exports.make_due(now=clock.go(timedelta(minutes=1)))
    visitor = Visitor(owner)
    page = shown(visitor.send(visitor.open(PATH), PATH), status=429)
    assert "Ask again in 24 hours." in text(page)
    assert len(page.all("a", download="")) == 1
    exports.ask(owner, lang="en", now=clock.go(timedelta(days=1)))


def test_a_worker_that_dies_leaves_the_file_due_and_five_times_are_enough(
    clock: Clock, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object, **__: object) -> bytes:
        raise RuntimeError("killed")

    exports.ask(owner, lang="en", now=NOON)
    with monkeypatch.context() as patched:
        patched.setattr(packing, "packed", dies)
        assert exports.make_due(now=NOON) == 0
    assert exports.make_due(now=clock.go(timedelta(minutes=1))) == 0  # another worker may still be writing it
    assert exports.make_due(now=clock.go(exports.LEASE)) == 1
    exports.ask(owner, lang="en", now=clock.now)
    monkeypatch.setattr(packing, "packed", dies)
    for _ in range(7):
        exports.make_due(now=clock.go(exports.LEASE))
    assert "could not be made" in text(Visitor(owner).open(PATH))


def test_what_does_not_fit_is_left_out_and_said(
    clock: Clock, owner: User, running: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        keys.create(owner, name=f"key {number}", now=timezone.now())
    monkeypatch.setattr(packing, "MOST", 2)
    found = opened(packing.packed(owner, now=NOON))
    assert len(found["api-keys.json"]) == 2
    assert "only the newest rows: api-keys" in found["README.txt"]
    monkeypatch.setattr(packing, "MAX_BYTES", 300)
    assert opened(packing.packed(owner, now=NOON))["agents.json"] == []
    assert personal.MOST > 2
