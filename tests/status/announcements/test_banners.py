"""Announcements: banners between two times, and a mail that each person of a group gets once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as conf
from django.test import Client
from django.utils import timezone

from accounts import sessions
from accounts.models import Letter, User
from agents.models import Agent
from config.audit.models import AuditEntry
from config.jobs.models import Job
from pages.public.status import keeping
from status.announcements import banners
from status.announcements.models import Announcement, AnnouncementMail
from tests import operating
from tests.agents.conftest import MakeAgent
from tests.config.jobs.conftest import started, work_on

pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]

EVIL = "Hello **all**<script>alert(1)</script>\n\n[a link](javascript:alert(1)) ![spy](https://spy.example/a.png)"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    banners.forget()
    keeping.forget()
    yield
    banners.forget()
    keeping.forget()


@pytest.fixture
def console() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator@example.com", lang="es"))
    return client


def announced(**values: Any) -> Announcement:
    one = Announcement.objects.create(**{"title": "A night of maintenance", "text": "Agents **pause**.", **values})
    one.texts.create(lang="es", title="Una noche de mantenimiento", text="Los agentes **descansan**.")
    return one


def mail_page(one: Announcement) -> str:
    return f"/admin/status/announcement/{one.pk}/mail/"


def prepared(console: Client, one: Announcement, group: str = "") -> Job:
    asking = console.post(f"{mail_page(one)}{group}", follow=True)
    return Job.objects.get(pk=asking.context["job"].pk)


def test_a_banner_is_shown_between_its_times_in_the_readers_language_and_no_html_passes(owner: User) -> None:
    now = timezone.now()
    hour = timedelta(hours=1)
    announced(shown_from=now - hour, shown_until=now + hour, text=EVIL)
    announced(title="Later", shown_from=now + hour, shown_until=now + 2 * hour)
    announced(title="Over", shown_from=now - 2 * hour, shown_until=now - hour)
    announced(title="Owners alone", shown_from=now - hour, shown_until=now + hour, on_status_page=False)
    status = Client().get("/status/page", headers={"Accept-Language": "en"}).content.decode()
    spanish = Client().get("/es/status/page").content.decode()
    owners = Client()
    owners.cookies[conf.ACCOUNT_COOKIE_NAME] = sessions.start(owner, attribution=None, now=now)[1]
    assert "Owners alone" in owners.get("/account").content.decode()
    for told in ("A night of maintenance", "Hello <strong>all</strong>&lt;script&gt;"):
        assert told in status
    for hidden in ("<script>alert", 'javascript:alert(1)"', "spy.example", "Later", "Over", "Owners alone"):
        assert hidden not in status.replace("[a link](javascript:alert(1))", "")
    assert "Los agentes <strong>descansan</strong>." in spanish
    assert 'lang="es"' in spanish
    assert {one.title for one in banners.now("ru")} == {"A night of maintenance", "Owners alone"}


def test_the_mail_is_seen_and_tested_before_anybody_gets_it(console: Client) -> None:
    one = announced(text=EVIL)
    page = console.get(mail_page(one)).content.decode()
    for told in ("A night of maintenance", "Una noche de mantenimiento", "<strong>1</strong> people"):
        assert told in page
    html = console.get(f"{mail_page(one)}en/html").content.decode()
    assert "Hello <strong>all</strong>&lt;script&gt;" in html
    assert "<script" not in html
    assert "spy.example" not in html
    console.post(f"{mail_page(one)}es/test")
    letter = Letter.objects.get()
    assert (letter.subject, letter.lang) == ("[Test] Una noche de mantenimiento", "es")
    assert "<strong>descansan</strong>" in str(letter.html)
    assert "**descansan**" in letter.text
    assert AuditEntry.objects.filter(verb="Test mail sent", object_id=one.pk).exists()
    assert not AnnouncementMail.objects.exists()


def test_each_person_of_the_group_gets_the_mail_once_and_who_turned_news_off_does_not(
    console: Client, make_agent: MakeAgent, owner: User
) -> None:
    make_agent()
    Agent.objects.update(tier="small")
    quiet = User.objects.create_user("quiet@example.com", muted_mails=["announcement"])
    User.objects.create_user("gone@example.com", is_active=False)
    spanish = User.objects.create_user("ana@example.com", lang="es")
    one = announced()
    assert prepared(console, one, "?tier=small").total == 1
    assert prepared(console, one, "?lang=es").total == 2
    job = prepared(console, one)
    assert job.total == 3
    again = prepared(console, one)
    User.objects.filter(pk=owner.pk).update(muted_mails=["announcement"])  # after the operator prepared the job
    started(console, job, announcement="nonsense")
    work_on(job)
    started(console, again)  # a second job for the same people
    work_on(again)
    assert (job.state, job.done, again.done) == ("done", 3, 3)
    assert sorted(Letter.objects.values_list("email", "lang")) == [
        ("ana@example.com", "es"),
        ("operator@example.com", "es"),
    ]
    assert again.rows.filter(message="Was mailed before.").count() == 2
    assert not Letter.objects.filter(user=quiet).exists()
    assert spanish.letters.get().subject == "Una noche de mantenimiento"
    notice = announced(may_be_muted=False)
    assert prepared(console, notice).total == 4
    assert "nothing to do" in console.post(f"{mail_page(one)}?lang=es", follow=True).content.decode()


def test_nonsense_in_the_group_is_refused_and_only_operators_send(console: Client) -> None:
    one = announced()
    page = console.post(f"{mail_page(one)}?tier=nothing&lang=xx", follow=True)
    assert "Select a valid choice" in page.content.decode()
    assert not Job.objects.exists()
    looker = operating.staff("view_announcement", "change_announcement")
    assert looker.get(mail_page(one)).status_code == 200
    assert looker.post(mail_page(one)).status_code == 403
    assert looker.post(f"{mail_page(one)}en/test").status_code == 403
    assert operating.staff("view_agent").get(mail_page(one)).status_code == 403
    assert console.get(mail_page(Announcement(pk="ann_0"))).status_code == 404
