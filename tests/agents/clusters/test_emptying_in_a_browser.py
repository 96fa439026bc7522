"""An operator moves everything off a cluster, in a real Chromium and on two clusters that run pods."""

from __future__ import annotations

import asyncio

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from agents.clusters import connections, placement
from agents.models import Cluster
from config.jobs import work
from config.jobs.models import Job, JobState
from tests.accounts.factors.people import operator
from tests.agents.clusters import ground
from tests.agents.clusters.test_flow import ApiOwner
from tests.agents.pod.bridge.process import eventually
from tests.browser import running_browser
from tests.config.console_walk import ConsoleWalk, cookies_of, walking

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(ground.is_real, reason="there is one real cluster"),
]


async def emptied(walk: ConsoleWalk, old: str, new: str) -> None:
    """Five clicks."""
    await walk.menu("Clusters")
    await walk.link(old)
    await walk.button("Cordon")
    await walk.says(f"Cluster {old}: cordoned")
    await walk.button("Move all agents off")
    await walk.page.get_by_label("Reason").fill("new machines")
    await walk.page.get_by_label("To which cluster").select_option(label=new)
    await walk.page.get_by_label("Number of rows").fill("1")
    await walk.button("Move: start the job")


async def walked(server: str, cookies: dict[str, str], old: str, new: str) -> None:
    async with running_browser() as browser, walking(browser, server, cookies) as walk:
        await emptied(walk, old, new)


def test_everything_is_moved_off_a_cluster_in_five_clicks(
    live_server: LiveServer, client: APIClient, two: list[Cluster]
) -> None:
    owner = ApiOwner(client)
    owner.until("running")
    assert owner.say("say one") == "one"
    old = placement.place(owner.id)
    (new,) = [one for one in two if one != old]
    first = owner.row().namespace
    asyncio.run(walked(live_server.url, cookies_of(operator("operator")), old.name, new.name))
    old.refresh_from_db()
    assert old.cordoned
    work.run_due(now=timezone.now())
    owner.until_seen(lambda found: found["status"] == "running" and owner.row().generation == 2, "the moved one")
    assert placement.place(owner.id) == new
    assert owner.say("count") == "1", "it remembers what it was told there"
    assert connections.of(old).find(f"/api/v1/namespaces/{first}") is None
    eventually(_is_done, within=60, what="the job's end")


def _is_done() -> bool:
    work.run_due(now=timezone.now())
    return Job.objects.get().state == JobState.DONE
