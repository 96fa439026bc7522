from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
from django.db import connection
from rest_framework.test import APIClient

from tests.status.conftest import Web


@pytest.mark.django_db(transaction=True)
def test_a_process_with_all_its_dependencies_is_ready(api: APIClient) -> None:
    response = api.get("/health/ready")
    assert response.status_code == 200
    checks = {"database": "ok", "cache": "ok", "queue": "ok", "cluster": "ok"}
    assert response.json() == {"status": "ok", "checks": checks}


@pytest.mark.sampled
def test_a_process_without_its_database_is_not_ready(web: Web, closed_port: int) -> None:
    base = web({"DATABASE_URL": f"postgresql://postgres@127.0.0.1:{closed_port}/agentpods"})
    response = requests.get(f"{base}/health/ready", timeout=10)
    assert response.status_code == 503
    assert response.json() == {
        "error": "INTERNAL",
        "message": "not ready: the database does not answer; details are in GET /status",
    }
    assert int(response.headers["Retry-After"]) > 0


@pytest.mark.sampled
@pytest.mark.django_db(transaction=True)
def test_a_process_without_redis_is_still_ready(web: Web, silent_port: int) -> None:
    """Redis may be down without failing a request, so no balancer should take the process out because of it."""
    from tests.workers import database_url

    base = web({"DATABASE_URL": database_url(), "REDIS_URL": f"redis://127.0.0.1:{silent_port}/0"})
    response = requests.get(f"{base}/health/ready", timeout=10)
    assert response.status_code == 200
    assert response.json()["checks"]["cache"] == "down"


@pytest.fixture
def unmigrated(transactional_db: None) -> Iterator[None]:
    """A database that was not yet migrated to a newer release."""
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE status_incident RENAME TO status_elsewhere")
    yield
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE status_elsewhere RENAME TO status_incident")


@pytest.mark.usefixtures("unmigrated")
def test_a_process_on_an_unmigrated_database_is_not_ready(api: APIClient) -> None:
    assert api.get("/health/ready").status_code == 503
    assert api.get("/status/incidents").status_code == 503
    assert api.get("/status").json()["status"] == "down"
    assert api.get("/health").status_code == 200
