"""Each process serves its metrics on a port of its own, and no visitor can make new series."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from celery import current_app
from pytest_django import Settings

from config import settings as plain_settings
from config.metrics import listener
from config.run.programs import MEASURED, programs
from tests.ports import free_port
from tests.scraping import scrape, scrape_until
from tests.webs import Web
from tests.workers import Workers

pytestmark = pytest.mark.sampled

REQUESTS = "agentpods_http_requests_total"


@pytest.fixture
def measured_web(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Web, int]]:
    """A real web process, and the port of its metrics."""
    port = free_port()
    monkeypatch.setenv("METRICS_PORT", str(port))
    web = Web(tmp_path / "web.log")
    try:
        web.wait()
        yield web, port
    finally:
        web.stop()


def odd(web: Web, method: str, path: str, host: str = "127.0.0.1") -> None:
    """A request that no usual client would send."""
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=10)
    connection.request(method, path, headers={"Host": host, "Authorization": "Bearer ak_live_secret-of-mine"})
    connection.getresponse().read()
    connection.close()


@pytest.mark.unmeasured
def test_web_tells_its_requests_by_route_and_no_visitor_makes_a_series(measured_web: tuple[Web, int]) -> None:
    web, port = measured_web
    for number in range(3):
        web.get(f"/agents/agt_{number:024}")
        web.get(f"/nothing/here/{number}")
    before = scrape(port)
    assert before.value(REQUESTS, route="/agents/<str:id>", method="GET", status="401") == 3
    assert before.value(REQUESTS, route="other", status="404") == 3
    assert (before.value("agentpods_http_request_duration_seconds_count", route="/tiers") or 0) >= 1
    assert before.value("agentpods_database_pool_max") == plain_settings.DATABASE_POOL_SIZE
    odd(web, "BREW", "/coffee")
    for number in range(20):
        odd(web, f"BREW{number}", f"/tea/{number}?key=ak_live_secret-of-mine")
        odd(web, "GET", f"/guide/{number}/%00{number}", host=f"host-{number}.example")
        odd(web, "GET", f"/agents/agt_{number:024}/pause?{number}")
    after = scrape(port)
    new = after.series(REQUESTS) - before.series(REQUESTS)
    assert len(new) <= 4, new
    assert "secret-of-mine" not in after.text
    assert "example" not in after.text
    assert "agt_" not in after.text


@pytest.mark.unmeasured
def test_visitors_do_not_reach_the_metrics(measured_web: tuple[Web, int]) -> None:
    web, port = measured_web
    assert web.get("/metrics").status_code == 404
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://127.0.0.2:{port}/metrics", timeout=5)  # it listens on METRICS_ADDRESS alone


@pytest.mark.unmeasured
def test_connections_that_say_nothing_do_not_keep_prometheus_away(measured_web: tuple[Web, int]) -> None:
    _, port = measured_web
    with ExitStack() as stack:
        for _ in range(listener.AT_ONCE * 3):
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            silent.sendall(b"GET / HT")
        scrape_until(port, lambda found: found.samples)


@pytest.mark.unmeasured
def test_a_worker_tells_its_tasks(celery: Workers) -> None:
    port = free_port()
    celery.start("default", environment={"METRICS_PORT": str(port)})
    current_app.send_task("accounts.purge", queue="default")
    found = scrape_until(port, lambda one: one.value("agentpods_tasks_total", task="accounts.purge"))
    assert found.value("agentpods_tasks_total", task="accounts.purge", outcome="succeeded") == 1
    assert found.value("agentpods_task_duration_seconds_count", task="accounts.purge") == 1


@pytest.mark.unmeasured
def test_beat_tells_the_figures_of_the_platform(celery: Workers) -> None:
    port = free_port()
    celery.beat(environment={"METRICS_PORT": str(port)})
    found = scrape_until(port, lambda one: one.value("agentpods_figures_up"))
    assert found.value("agentpods_redis_up") == 1
    assert found.value("agentpods_loop_late") == 0
    assert found.value("agentpods_unpaid_running_agents") == 0


def test_nothing_is_served_unless_the_operator_says_where() -> None:
    assert (plain_settings.METRICS_PORT, plain_settings.METRICS_ADDRESS) == (0, "127.0.0.1")
    assert all(program.environment.get("METRICS_PORT", "0") == "0" for program in programs())


def test_each_program_of_make_run_has_a_port_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.settings.METRICS_PORT", 9600)
    monkeypatch.setattr("config.settings.AGENT_RUNTIME", "kubernetes")
    monkeypatch.setattr("config.settings.BACKUP_STORE", "files")
    ports = {program.name: program.environment.get("METRICS_PORT", "0") for program in programs()}
    assert [ports[name] for name in MEASURED] == [str(9600 + place) for place in range(len(MEASURED))]


def test_a_port_that_is_taken_stops_no_program(caplog: pytest.LogCaptureFixture, settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        settings.METRICS_PORT = holder.getsockname()[1]
        listener.serve()
    assert "the metrics are not served" in caplog.text
