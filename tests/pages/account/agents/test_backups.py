"""An agent's backups on their page: create, download, restore."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from agents.backups import downloading
from agents.backups.models import Backup, Kind, Stage
from agents.models import Agent, Repository
from tests.agents.conftest import settle
from tests.pages.account.visitor import Visitor, text
from tests.pages.page import Page

NAME = "2026-11-26-0300"


@pytest.fixture
def visitor(owner: User) -> Visitor:
    return Visitor(owner)


@pytest.fixture
def kept(running: Agent, settings: Any, tmp_path: Any) -> Agent:
    settings.BACKUP_STORE, settings.BACKUP_URL = str(tmp_path / "store"), "http://127.0.0.1:9"
    Repository.objects.create(agent=running, password="x", made_at=timezone.now())
    now = timezone.now()
    Backup.objects.create(
        agent=running, name=NAME, kind=Kind.NIGHTLY, namespace=running.namespace, generation=1, actor="nights",
        stage=Stage.DONE, asked_at=now, taken_at=now, ended_at=now, snapshot="abc", size=5_000_000,
    )  # fmt: skip
    return running


def place(agent: Agent) -> str:
    return f"/account/agents/{agent.pk}/backups"


def test_they_are_listed_with_why_and_how_large(visitor: Visitor, kept: Agent) -> None:
    assert "nightly 4.8" in text(visitor.open(place(kept))).replace("\xa0", " ")


def test_one_is_asked_for_and_the_page_says_that_it_is_being_made(visitor: Visitor, kept: Agent) -> None:
    visitor.follow(visitor.send(visitor.open(place(kept)), place(kept)))
    backup = Backup.objects.get(kind=Kind.ASKED)
    assert backup.actor == f"user:{kept.user_id}"
    page = visitor.open(place(kept))
    assert "A backup is being made." in text(page)
    Backup.objects.filter(kind=Kind.NIGHTLY).delete()
    assert "There is no backup yet." not in text(visitor.open(place(kept)))
    assert not page.all("form", action=place(kept))


def test_one_is_downloaded(visitor: Visitor, kept: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloading, "archive", lambda backup: iter([backup.name.encode()]))
    answer: Any = visitor.client.get(f"{place(kept)}/{NAME}")
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{NAME}.tar.gz"'
    assert b"".join(answer.streaming_content) == NAME.encode()


def test_one_is_restored_after_a_question(visitor: Visitor, kept: Agent) -> None:
    there = f"{place(kept)}/{NAME}/restore"
    answer = visitor.send(visitor.open(there), there)
    assert answer.headers["Location"] == f"/account/agents/{kept.pk}"
    kept.refresh_from_db()
    assert (kept.restores, kept.status) == (Backup.objects.get().pk, "provisioning")
    again = visitor.send(visitor.open(there), there)
    assert again.status_code == 409
    assert "This cannot be done while the agent is: starting." in text(Page(again.content.decode()))


def test_a_stopped_agent_says_why_none_is_made(visitor: Visitor, kept: Agent) -> None:
    page = visitor.open(place(kept))
    visitor.send(visitor.open(f"/account/agents/{kept.pk}"), f"/account/agents/{kept.pk}/pause")
    settle(kept)
    answer = visitor.send(page, place(kept))
    assert answer.status_code == 409
    assert "This cannot be done while the agent is:" in text(Page(answer.content.decode()))


def test_an_installation_without_backups_says_so(visitor: Visitor, running: Agent, settings: Any) -> None:
    settings.BACKUP_STORE = ""
    answer = visitor.send(visitor.open(place(running)), place(running))
    assert "There are no backups on this installation." in text(Page(answer.content.decode()))


@pytest.mark.parametrize("page", ["", f"/{NAME}", f"/{NAME}/restore"])
def test_a_strangers_backups_are_not_there(kept: Agent, stranger: User, page: str) -> None:
    assert Visitor(stranger).client.get(place(kept) + page).status_code == 404


@pytest.mark.parametrize("name", ["nope", "..", "2026-01-01-0000", "x" * 300, "%00"])
def test_a_backup_that_is_not_there_is_a_404(visitor: Visitor, kept: Agent, name: str) -> None:
    for page in (f"{place(kept)}/{name}", f"{place(kept)}/{name}/restore"):
        assert visitor.client.get(page).status_code == 404
