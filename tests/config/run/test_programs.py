from __future__ import annotations

import pytest

from config.celery import BEAT, app
from config.run.programs import RunProgram, programs


def served_by() -> dict[str, set[str]]:
    """The queues of each worker in `make run`."""
    return {program.name: set(_queues(program)) for program in programs() if "worker" in program.command}


def _queues(program: RunProgram) -> list[str]:
    return program.command[program.command.index("-Q") + 1].split(",")


def test_every_periodic_job_has_a_worker() -> None:
    assert {queue for _, _, queue in BEAT.values()} <= set.union(*served_by().values())


def test_mail_does_not_wait_until_slow_removals_are_done() -> None:
    """Removals may occupy every thread of the worker for `lifecycle`."""
    assert [name for name, queues in served_by().items() if "default" in queues and "lifecycle" not in queues]


def test_whoever_takes_what_concerns_pods_takes_all_of_it() -> None:
    """In a cluster, only this worker has an account and reaches the pods."""
    of_pods = {"backups.step", "backups.take_due"}
    assert {queue for task, _, queue in BEAT.values() if task.startswith("agents.") or task in of_pods} == {"lifecycle"}
    asked_for = ["backups.step", "agents.reconcile"]
    assert {app.amqp.router.route({}, task)["queue"].name for task in asked_for} == {"lifecycle"}


def test_pods_on_clusters_are_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "observer" not in {program.name for program in programs()}
    monkeypatch.setattr("config.settings.AGENT_RUNTIME", "kubernetes")
    assert "observer" in {program.name for program in programs()}


def test_whoever_may_print_developments_mail_is_shown() -> None:
    shown = {program.name for program in programs() if program.shown}
    assert {name for name, queues in served_by().items() if "default" in queues} <= shown


def test_caddy_is_one_of_the_programs_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "caddy" not in {program.name for program in programs()}
    monkeypatch.setattr("config.settings.TLS", "auto")
    (caddy,) = [program for program in programs() if program.name == "caddy"]
    assert "--clean" in caddy.command, "it is told no secret of ours"
