"""What an operator does about people, in a real Chromium, from the console's first page and without a manual."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.helping.models import StaffLook
from accounts.models import Letter, Suspension, User
from config.jobs import work
from status.announcements.models import Announcement
from tests.accounts.factors.people import operator
from tests.agents.conftest import MakeAgent, settle
from tests.config.console_walk import ConsoleWalk, walked

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_person_is_found_by_mail_and_seen_as_they_see(
    live_server: LiveServer, make_agent: MakeAgent, owner: User
) -> None:
    settle(make_agent(name="Night Owl"))
    User.objects.create_user("somebody@example.com")

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Users")
        await walk.search(owner.email)
        await walk.open(owner.email)
        await walk.step("See as they see", "See as they see", reason="they cannot find their agent")
        await expect(walk.page.get_by_role("region", name="Look")).to_contain_text(owner.email)
        await expect(walk.page.get_by_role("link", name="Night Owl").first).to_be_visible()
        await walk.click(walk.page.get_by_role("button", name="End", exact=True))
        await walk.says(owner.email)

    walked(live_server.url, operator("support"), steps)
    look = StaffLook.objects.get()
    assert (look.user, look.operator.email, look.reason) == (
        owner,
        "support@example.com",
        "they cannot find their agent",
    )
    assert look.ended_at is not None
    assert "/account" in look.places


def test_a_person_is_suspended_and_restored(live_server: LiveServer, make_agent: MakeAgent, owner: User) -> None:
    settle(make_agent())
    may_sign_in: list[bool] = []

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Users")
        await walk.search(owner.email)
        await walk.open(owner.email)
        await walk.step("Suspend", "Suspend", reason="sends spam")
        await walk.says("Suspended")
        may_sign_in.append(await User.objects.values_list("is_active", flat=True).aget(pk=owner.pk))
        await walk.step("Restore", "Restore", reason="it was somebody else")
        await walk.says("Restored")

    walked(live_server.url, operator("operator"), steps)
    owner.refresh_from_db()
    assert (may_sign_in, owner.is_active) == ([False], True)
    row = Suspension.objects.get(user=owner)
    assert row.reason == "sends spam"
    assert row.restored_at is not None


def test_owners_are_told_news_after_a_preview(live_server: LiveServer, make_agent: MakeAgent, owner: User) -> None:
    make_agent(tier="small")
    make_agent(User.objects.create_user("of-tiny@example.com"), tier="tiny")

    async def steps(walk: ConsoleWalk) -> None:
        await walk.menu("Announcements")
        await walk.link("Add announcement")
        await walk.fill("Title:", "Maintenance on Sunday")
        await walk.fill("Text:", "Agents of this plan pause for **ten minutes**.")
        await walk.button("Save")
        mail = walk.page.frame_locator("iframe[title='The mail as HTML, en']")
        await expect(mail.locator("strong", has_text="ten minutes")).to_be_visible()
        await walk.page.get_by_label("Plan of an agent").select_option("small")
        await walk.button("Count these people")
        await walk.says("1 people of this group")
        await walk.button("Prepare the mail to 1 people…")
        await walk.fill("Number of rows:", "1")
        await walk.confirm("Mail it: start the job", reason="the disks are replaced")
        await walk.says("as the people with tier small")

    walked(live_server.url, operator("operator"), steps)
    while work.run_due(now=timezone.now()):
        pass
    mailed = Letter.objects.filter(subject__contains="Maintenance on Sunday")
    assert [letter.user_id for letter in mailed] == [owner.pk]
    assert Announcement.objects.get().mails.count() == 1
