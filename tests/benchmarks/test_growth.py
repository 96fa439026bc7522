"""What `python -m benchmarks.growth` measures, and its verdicts."""

from __future__ import annotations

import pytest
from django.db import connection
from django.utils import timezone

from agents.models import Agent, Pod
from benchmarks.growth import filling, jobs, rows
from benchmarks.growth.costs import FEW, MANY, SOME, Growth, GrowthWork, WorkKind
from config.celery import BEAT

AGENTS = 90


def grown(kind: WorkKind, few: float, some: float, many: float) -> Growth:
    return Growth(GrowthWork(name="agents.sweep", kind=kind, every=60.0), {FEW: few, SOME: some, MANY: many})


def test_every_periodic_task_is_measured_or_left_out_with_a_reason() -> None:
    measured = {job.name for job in jobs.periodic()}
    assert measured >= BEAT.keys() - jobs.LEFT_OUT.keys()
    assert BEAT.keys() >= jobs.LEFT_OUT.keys() | jobs.SWEEPS
    assert not measured & jobs.LEFT_OUT.keys()


@pytest.mark.parametrize("kind", [WorkKind.IDLE, WorkKind.REQUEST])
def test_idle_work_and_requests_stay_near_constant(kind: WorkKind) -> None:
    assert grown(kind, 1.0, 1.1, 1.5).is_well
    assert not grown(kind, 1.0, 1.1, 1.6).is_well


def test_a_sweep_may_cost_as_much_more_as_there_are_more_agents() -> None:
    assert grown(WorkKind.SWEEP, 1.0, 10.0, 100.0).is_well


def test_what_a_sweep_costs_without_agents_hides_no_growth_that_is_worse_than_linear() -> None:
    assert grown(WorkKind.SWEEP, 51.0, 60.0, 150.0).is_well
    assert not grown(WorkKind.SWEEP, 51.0, 60.0, 200.0).is_well


def test_the_table_has_a_line_for_each_job_and_the_share_of_a_core_that_all_take() -> None:
    lines = rows.table([grown(WorkKind.SWEEP, 60.0, 600.0, 6000.0), grown(WorkKind.IDLE, 6.0, 6.0, 12.0)]).splitlines()
    assert [line.split(" | ")[-1].strip(" |") for line in lines[2:4]] == ["FAIL", "pass"]
    assert "| all sweeps together |  | 0.10 % of a core | 1.00 % of a core | 10.00 % of a core | 0.100 % |" in lines[5]


@pytest.mark.django_db(transaction=True)
def test_on_the_filled_platform_nothing_is_due(catalog: None, runtime: object) -> None:
    filling.fill(AGENTS)
    now = timezone.now()
    running = Agent.objects.filter(status="running")
    assert running.count() == Pod.objects.filter(revision=1, pod_ip__isnull=False).count() > AGENTS // 4
    assert not Agent.objects.due(now).exists()
    assert not Agent.objects.term_due(now).exists()
    with connection.cursor() as cursor:
        for table, column in (("agents_spending", "read_at"), ("agents_channelstate", "look_at")):
            cursor.execute(f"SELECT count(*), count(*) FILTER (WHERE {column} <= now()) FROM {table}")
            there, due = cursor.fetchone()
            assert there > 0
            assert due == 0
