from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import requests
from django.core.exceptions import ValidationError
from rest_framework.test import APIClient

from status.models import Incident
from tests.status.conftest import Web

BEGAN = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
def test_incidents_are_listed_newest_first(api: APIClient) -> None:
    older = Incident.objects.create(
        title="Mail delayed", status="resolved", started_at=BEGAN - timedelta(days=1), resolved_at=BEGAN, components=[]
    )
    newer = Incident.objects.create(title="Slow boots", started_at=BEGAN, components=["runtime"])
    body = api.get("/status/incidents").json()
    assert [incident["id"] for incident in body["incidents"]] == [newer.id, older.id]
    assert body["incidents"][0] == {
        "id": newer.id,
        "title": "Slow boots",
        "status": "investigating",
        "startedAt": "2026-11-20T09:30:00Z",
        "resolvedAt": None,
        "components": ["runtime"],
    }


@pytest.mark.django_db
def test_an_incident_is_resolved_when_and_only_when_it_has_a_time() -> None:
    with pytest.raises(ValidationError, match="resolvedAt"):
        Incident(title="Odd", status="resolved", started_at=BEGAN).full_clean()


@pytest.mark.sampled
def test_without_the_database_incidents_are_unavailable(web: Web, closed_port: int) -> None:
    base = web({"DATABASE_URL": f"postgresql://postgres@127.0.0.1:{closed_port}/agentpods"})
    response = requests.get(f"{base}/status/incidents", timeout=10)
    assert response.status_code == 503
    assert set(response.json()) == {"error", "message"}
