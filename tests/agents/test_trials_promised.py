"""The migration agents/migrations/0021_trials_promised.py."""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module

import pytest
import time_machine
from django.apps import apps
from django.db import connection
from pytest_django import Settings

from agents import suspension
from agents.models import Agent
from tests.agents.conftest import MakeAgent
from tests.agents.test_trials import DAY, NOON

migration = import_module("agents.migrations.0021_trials_promised")


@pytest.mark.django_db
@pytest.mark.usefixtures("one_clock")
def test_each_agent_of_the_release_before_keeps_its_trial_and_a_second_try_changes_nothing(
    make_agent: MakeAgent, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(migration, "ROWS", 2)
    settings.MAX_FREE_AGENTS = 5
    with time_machine.travel(NOON, tick=False) as clock:
        agents = [make_agent() for _ in range(5)]
        clock.shift(DAY)
        suspension.suspend(agents[0].user, reason="spam", actor="operator")
        clock.shift(2 * DAY)
        suspension.restore(agents[0].user, actor="operator")
    Agent.objects.update(trial_ends_at=None)
    Agent.objects.filter(pk=agents[4].pk).update(trial_ends_at=NOON + 30 * DAY)
    for _ in range(2):
        with connection.schema_editor() as editor:
            migration.promise(apps, editor)
        ends = [Agent.objects.get(pk=agent.pk).trial_ends_at for agent in agents]
        assert ends == [NOON + timedelta(days=7 + 2)] * 4 + [NOON + 30 * DAY]
