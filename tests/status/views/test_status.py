from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import requests
import time_machine
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.models import Cluster
from catalog import listing, loading, refreshing
from catalog.models import LlmModel
from config.celery import BEAT
from status import loops
from status.models import Incident
from tests.catalog.listed import document, model, provider
from tests.doubles.runtime import ScriptedRuntime
from tests.status.conftest import Web, fresh_look

pytestmark = pytest.mark.django_db(transaction=True)


def all_loops_worked(ago: timedelta = timedelta()) -> None:
    for name in BEAT:
        loops.record(name, now=timezone.now() - ago)


def test_the_status_names_every_dependency_and_every_loop(api: APIClient) -> None:
    all_loops_worked()
    response = api.get("/status")
    body = response.json()
    assert response.status_code == 200
    assert set(body) == {"status", "components", "version", "catalogUpdatedAt"}
    assert (body["status"], body["version"]) == ("ok", "1.0.0")
    ids = [component["id"] for component in body["components"]]
    assert ids == ["database", "cache", "queue", "runtime", "mail", "models", "backups", "drills", *BEAT]
    for component in body["components"]:
        assert set(component) == {"id", "name", "status", "latencyMs", "checkedAt"}
        assert component["status"] == "ok"


def test_a_late_loop_degrades_the_status(api: APIClient) -> None:
    all_loops_worked()
    loops.record("webhooks.drain", now=timezone.now() - timedelta(minutes=1))
    body = api.get("/status").json()
    assert body["status"] == "degraded"
    assert [component["id"] for component in body["components"] if component["status"] != "ok"] == ["webhooks.drain"]


def test_clusters_that_nobody_sees_degrade_the_runtime(
    api: APIClient, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_loops_worked()
    settings.AGENT_RUNTIME = "kubernetes"
    Cluster.objects.create(name="given-up", routing="none", cordoned=True)
    with ScriptedRuntime.installed(monkeypatch):
        assert runtime_of(api) == "ok"
        Cluster.objects.create(name="seen", routing="none", observed_at=timezone.now() - timedelta(seconds=60))
        assert runtime_of(api) == "ok"
        never = Cluster.objects.create(name="never", routing="none")
        assert runtime_of(api) == "degraded"
        Cluster.objects.filter(name="seen").update(observed_at=timezone.now() - timedelta(seconds=100))
        assert runtime_of(api) == "down"
        assert api.get("/health/ready").json()["checks"]["cluster"] == "ok"
        never.delete()
        settings.AGENT_RUNTIME = "local"
        assert runtime_of(api) == "ok"


def runtime_of(api: APIClient) -> str:
    fresh_look()
    body = api.get("/status").json()
    found = {component["id"]: component["status"] for component in body["components"]}["runtime"]
    assert body["status"] == ("ok" if found == "ok" else "degraded")
    return str(found)


def test_an_open_incident_degrades_the_components_it_names(api: APIClient) -> None:
    all_loops_worked()
    Incident.objects.create(title="Slow boots", started_at=timezone.now(), components=["runtime"])
    body = api.get("/status").json()
    assert body["status"] == "degraded"
    assert {component["id"]: component["status"] for component in body["components"]}["runtime"] == "degraded"


def test_a_resolved_incident_degrades_nothing(api: APIClient) -> None:
    all_loops_worked()
    now = timezone.now()
    Incident.objects.create(title="Over", status="resolved", started_at=now, resolved_at=now, components=["runtime"])
    assert api.get("/status").json()["status"] == "ok"


def test_the_age_of_the_catalog_and_of_its_prices_is_shown(api: APIClient) -> None:
    assert (api.get("/status").json()["catalogUpdatedAt"], prices_of(api)) == (None, None)
    loading.load()
    fresh_look()
    newest = max(LlmModel.objects.values_list("checked_at", flat=True))
    assert prices_of(api) == f"{newest.isoformat()}T00:00:00Z"
    refreshed = datetime(2027, 3, 1, 9, 30, tzinfo=UTC)
    found = listing.parse(document(provider("groq", model("llama-9", 1, 2))))
    with time_machine.travel(refreshed, tick=False):
        refreshing.refresh(found, source="models.example", now=refreshed, write=True)
        fresh_look()
        body = api.get("/status").json()
    assert body["catalogUpdatedAt"] == "2027-03-01T09:30:00Z"
    assert prices_of(api) == "2027-03-01T09:30:00Z"


def prices_of(api: APIClient) -> str | None:
    (found,) = [one for one in api.get("/status").json()["components"] if one["id"] == "models"]
    assert found["status"] == "ok"
    checked: str | None = found["checkedAt"]
    return checked


@pytest.mark.sampled
def test_the_status_answers_200_while_the_database_is_down(web: Web, closed_port: int) -> None:
    base = web({"DATABASE_URL": f"postgresql://postgres@127.0.0.1:{closed_port}/agentpods"})
    response = requests.get(f"{base}/status", timeout=10)
    assert response.status_code == 200
    assert response.json()["status"] == "down"


@pytest.mark.sampled
def test_a_hung_database_and_a_hung_redis_do_not_hang_the_status(web: Web, silent_port: int) -> None:
    base = web(
        {
            "DATABASE_URL": f"postgresql://postgres@127.0.0.1:{silent_port}/agentpods",
            "REDIS_URL": f"redis://127.0.0.1:{silent_port}/0",
        }
    )
    for _ in range(2):
        body = requests.get(f"{base}/status", timeout=10).json()
        states = {component["id"]: component["status"] for component in body["components"]}
        assert [states[name] for name in ("database", "cache", "queue", "runtime")] == ["down", "down", "down", "ok"]
