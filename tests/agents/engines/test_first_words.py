"""A real engine is installed and answers. The default suite tries only the smallest engine."""

from __future__ import annotations

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from tests.agents.engines.conftest import REAL_KEY, EnginePod
from tests.agents.engines.expectations import expected

OTHERS = [pytest.param(name, marks=pytest.mark.engines) for name in sorted(ENGINES) if name != "pi"]


@pytest.fixture(params=["pi", *OTHERS])
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.mark.anywhere
def test_a_real_engine_comes_up_and_answers_with_the_models_words(pod: EnginePod) -> None:
    pod.model.reply = "Ahoy from the model"
    pod.start()
    assert pod.say("Who are you?") == "Ahoy from the model"
    seen = pod.model.turns()[-1]
    assert seen.key == REAL_KEY
    assert "Captain Zorblax" in seen.system
    assert bool(seen.tools) == expected(pod).can_act
    assert not pod.is_here or "Who are you?" in pod.session_text()
