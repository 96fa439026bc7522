"""A year of random payments, gifts, refunds, suspensions and outages: product and model send the same events."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest

from tests.agents.conftest import PERSONA
from tests.year.world import BEGIN, Year

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalog", "runtime", "one_clock"), pytest.mark.unmeasured]


@pytest.mark.unmeasured
def test_some_weeks_of_a_few_agents() -> None:
    agree(agents=6, days=20, seed=1)


AGENTS, DAYS, SEED = (
    int(os.environ.get(name, default)) for name, default in {"AGENTS": 1_000, "DAYS": 400, "SEED": 20_261_121}.items()
)
# Agents in one database. Accounts do not influence each other, so the other agents run in other processes.
AT_ONCE = 125


@pytest.mark.year
@pytest.mark.parametrize("part", range(-(-AGENTS // AT_ONCE)))
@pytest.mark.django_db(transaction=True)  # as in production: one transaction for a whole year would get slow
def test_a_year_of_a_thousand_agents(part: int) -> None:
    agree(agents=min(AT_ONCE, AGENTS - part * AT_ONCE), days=DAYS, seed=SEED + part)


def agree(*, agents: int, days: int, seed: int) -> None:
    year = Year(agents, seed=seed, persona_id=PERSONA)
    year.live(days)
    differences = year.differences(BEGIN + timedelta(days=days))
    assert not differences, f"seed {seed}: {len(differences)} differences\n" + "\n".join(differences[:20])
