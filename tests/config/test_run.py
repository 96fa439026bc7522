"""The promises of `make run`, tested with real processes."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import requests

from config import embedded
from config.run import postgres
from tests.config.conftest import PROGRAMS, ROOT, MakeRun, Run, can_run_us
from tests.ports import free_port

pytestmark = pytest.mark.unmeasured

END_SECONDS = 15
BACK_SECONDS = 15

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.mark.sampled
def test_it_starts_and_starts_again_on_one_home_of_a_very_long_name_after_it_was_killed(
    make_run: MakeRun, base: Path, subtests: pytest.Subtests
) -> None:
    """A start takes long, so all checks of a running service use this one run."""
    run = make_run(base / ("x" * 120))
    run.start()
    user, password = its_first_words_are_what_one_needs(run)
    secrets = (run.home / "secrets.env").read_text(encoding="utf-8")
    run.signal(signal.SIGKILL)
    assert run.exit_status(within=5) == -signal.SIGKILL
    run.wait(lambda: not run.everything(), seconds=60)

    run.environment |= {
        "OPENAI_API_KEY": "sk-s3cret",
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(free_port()),
    }
    run.start()  # benchmarks/second_start.py measures the time
    assert (run.home / "operator.txt").read_text(encoding="utf-8").split() == [user, password]
    assert (run.home / "secrets.env").read_text(encoding="utf-8") == secrets
    for asked in (
        the_embedded_servers_are_told_no_secret,
        its_home_is_its_own,
        a_mail_server_that_is_down_is_told_of,
        each_program_is_back,
    ):
        with subtests.test(asked.__name__):
            asked(run)
    with subtests.test("Ctrl-C ends all of it"):
        _ends_whole(run, signal.SIGINT)


def its_first_words_are_what_one_needs(run: Run) -> tuple[str, str]:
    """Check the first output of the run. Returns the operator's name and password."""
    assert run.status("/health") == 200
    user, password = (run.home / "operator.txt").read_text(encoding="utf-8").split()
    run.wait(lambda: f"user {user}   password {password}" in run.said(), seconds=10)
    for path in ("/", "/sign-in", "/docs", "/openapi.json", "/admin/", "/status"):
        assert f"http://127.0.0.1:{run.port}{path} " in run.said().replace("\n", " ")
        run.wait(partial(_shows, run, path), seconds=10)
    assert "the mail that is printed here" in run.said()
    requests.post(f"http://127.0.0.1:{run.port}/auth/request", json={"email": "you@example.com"}, timeout=60)
    run.wait(lambda: "\nTo: you@example.com\n" in run.said(), seconds=15)
    assert "redirected" not in run.said()
    assert f"make demo PORT={run.port}" in run.said()
    assert {(run.home / name).stat().st_mode & 0o777 for name in ("operator.txt", "secrets.env")} == {0o600}
    return user, password


def _ends_whole(run: Run, told: signal.Signals) -> None:
    run.signal(told)
    assert run.exit_status(within=END_SECONDS) == 0
    assert run.everything() == []


def _shows(run: Run, path: str) -> bool:
    return run.status(path) in {200, 302}


def _is_back(run: Run, name: str, killed: psutil.Process) -> bool:
    return run.running().get(name, killed) != killed


def the_embedded_servers_are_told_no_secret(run: Run) -> None:
    """An attacker who breaks into one of these servers finds no secret of another part."""
    for name in ("postgres", "redis"):
        server = run.running()[name]
        for process in (server, *server.children(recursive=True)):
            assert not {"SECRET_KEY", "SECRETS_KEYS", "OPENAI_API_KEY"} & process.environ().keys()
            assert "s3cret" not in str(process.environ())


def its_home_is_its_own(run: Run) -> None:
    second = Run(run.home)
    second.output = run.output.with_suffix(".second")
    second.start(until_up=False)
    assert second.exit_status(within=20) == 1
    assert "another `make run` already uses" in second.said()
    run.wait(lambda: run.status("/health") == 200, seconds=BACK_SECONDS)


def a_mail_server_that_is_down_is_told_of(run: Run) -> None:
    """At once on the terminal and in the status, without the mail's receiver."""
    base = f"http://127.0.0.1:{run.port}"
    requests.post(f"{base}/auth/request", json={"email": "you@example.com"}, timeout=60)
    told = f"the mail server failed (127.0.0.1:{run.environment['EMAIL_PORT']}: "
    run.wait(lambda: told in run.said(), seconds=BACK_SECONDS)

    def mail() -> Any:
        components = requests.get(f"{base}/status", timeout=60).json()["components"]
        return next(one["status"] for one in components if one["id"] == "mail")

    run.wait(lambda: mail() == "down", seconds=BACK_SECONDS)
    assert "you@example.com" not in run.said().partition(told)[2].partition("\n")[0]


def each_program_is_back(run: Run) -> None:
    for name in PROGRAMS:
        killed = run.running()[name]
        killed.kill()
        run.wait(partial(_is_back, run, name, killed), seconds=BACK_SECONDS)
    log = run.home / "logs" / "beat.log"
    run.wait(lambda: f"beat: ended and is started again; see {log}" in run.said(), seconds=BACK_SECONDS)
    for _ in range(2):
        killed = run.running()["beat"]
        killed.kill()
        run.wait(partial(_is_back, run, "beat", killed), seconds=BACK_SECONDS)
    run.wait(lambda: "beat ended at once and is started again" in run.said(), seconds=BACK_SECONDS)
    run.wait(lambda: run.status("/health/ready") == 200, seconds=BACK_SECONDS)
    run.wait(lambda: run.status("/", run.port + 1) == 404, seconds=BACK_SECONDS)


@pytest.mark.slow
def test_a_postgresql_that_does_not_end_its_shutdown_is_killed_and_started_again(make_run: MakeRun) -> None:
    """After SIGTERM, PostgreSQL waits for its clients, which stay. During crash recovery it may wait for ever."""
    run = make_run()
    run.start()
    stuck = run.running()["postgres"]
    with psycopg.connect(host=str(embedded.postgres_data(run.home)), user="postgres", dbname="agentpods"):
        stuck.terminate()
        run.wait(partial(_is_back, run, "postgres", stuck), seconds=BACK_SECONDS + postgres.STOP_SECONDS)
    run.wait(lambda: run.status("/health/ready") == 200, seconds=BACK_SECONDS)
    assert "postgres did not stop when asked" in run.said()


def test_a_taken_port_is_named_and_nothing_is_started(make_run: MakeRun) -> None:
    run = make_run()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", run.port))
        taken.listen()
        run.start(until_up=False)
        assert run.exit_status(within=20) == 1
    assert f"port {run.port} is taken" in run.said()
    assert run.everything() == []


@pytest.mark.slow
def test_two_homes_run_side_by_side(make_run: MakeRun) -> None:
    first, second = make_run(), make_run()
    first.start()
    second.start()
    assert (first.status("/health"), second.status("/health")) == (200, 200)
    _ends_whole(first, signal.SIGTERM)


@pytest.mark.skipif(not can_run_us("nobody"), reason="needs root, and an interpreter that others may run")
def test_an_ordinary_user_may_run_it(make_run: MakeRun) -> None:
    run = make_run(user="nobody")
    run.start()
    assert run.status("/health/ready") == 200
    assert {process.username() for process in run.everything()} == {"nobody"}
    _ends_whole(run, signal.SIGTERM)


@pytest.mark.slow
@as_root
def test_root_keeps_only_postgresql_data_outside_of_a_home_that_others_cannot_enter(
    make_run: MakeRun, base: Path
) -> None:
    closed = base / "closed"
    closed.mkdir(mode=0o700)
    run = make_run(closed / "home")
    run.start()
    digest = hashlib.sha256(str(run.home.resolve()).encode()).hexdigest()[:12]
    data = Path("/var/lib/agentpods", digest)
    assert (run.home / "postgres.path").read_text(encoding="utf-8").strip() == str(data)
    assert (data / "PG_VERSION").exists()
    assert data.stat().st_mode & 0o777 == 0o700
    assert closed.stat().st_mode & 0o777 == 0o700
    assert run.running()["postgres"].username() != "root"
    run.signal(signal.SIGTERM)
    assert run.exit_status(within=END_SECONDS) == 0
    run.start()


@pytest.mark.slow
def test_given_stores_are_used_and_none_are_started(make_run: MakeRun, transactional_db: None) -> None:
    at = os.environ["DATABASE_URL"].replace("/agentpods?", "/given_stores?")
    with psycopg.connect(os.environ["DATABASE_URL"].replace("/agentpods?", "/postgres?"), autocommit=True) as admin:
        admin.execute("drop database if exists given_stores with (force)")
        admin.execute("create database given_stores")
    run = make_run(DATABASE_URL=at, REDIS_URL=os.environ["REDIS_URL"])
    run.start(until_up=False)
    run.wait(lambda: run.status("/health/ready") == 200, seconds=60)
    assert not {"postgres", "redis"} & set(run.running())


@pytest.mark.sampled
def test_a_database_that_is_not_there_is_named_and_the_run_ends(make_run: MakeRun) -> None:
    run = make_run(DATABASE_URL=os.environ["DATABASE_URL"].replace("/agentpods?", "/nowhere?"))
    run.start(until_up=False)
    assert run.exit_status(within=30) == 1
    assert 'database "nowhere" does not exist' in run.said()
    assert run.everything() == []


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "SECRET_KEY"),
        ({"SECRET_KEY": "k" * 60}, "SECRETS_KEYS"),
        ({"SECRET_KEY": "k" * 60, "SECRETS_KEYS": "Zm9v"}, "SECRETS_KEYS"),
        ({"SECRET_KEY": "k" * 60, "SECRETS_KEYS": "Y2hlY2stb25seS1jaGVjay1vbmx5LWNoZWNrLTEyMzQ="}, "AGENT_RUNTIME"),
    ],
)
def test_production_refuses_to_start_half_configured(
    make_run: MakeRun, environment: dict[str, str], named: str
) -> None:
    run = make_run(AGENTPODS_ENV="production", **environment)
    run.start(until_up=False)
    assert run.exit_status(within=20) == 1
    assert named in run.said()
    for command in (["manage.py", "check"], ["-c", "import config.wsgi"]):
        refused = subprocess.run(
            [sys.executable, *command], cwd=ROOT, env=run.environment, capture_output=True, text=True, check=False
        )
        assert refused.returncode != 0
        assert named in refused.stderr


def test_a_bad_setting_is_named(make_run: MakeRun) -> None:
    run = make_run(TRIAL_DAYS="soon")
    run.start(until_up=False)
    assert run.exit_status(within=20) == 1
    assert "TRIAL_DAYS='soon' must be a whole number" in run.said()
