"""The catalog's refresh asks which models agents use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from rest_framework.test import APIClient

from agents import models_in_use
from agents.configuring import llm_key
from agents.running import lifecycle, pods
from catalog import snapshot
from catalog.models import LlmModel, Persona
from tests.agents.conftest import PERSONA, MakeAgent
from tests.catalog.listed import document, model, provider

UNUSED = "openrouter:openai/gpt-6-astra"  # no persona recommends it
KEY = {"llm_provider": "openrouter", "llm_key": "sk-or-v1-test"}


@pytest.fixture
def refresh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*models: dict[str, Any]) -> str:
        path = tmp_path / "api.json"
        path.write_text(json.dumps(document(provider("openrouter", *models))), encoding="utf-8")
        call_command("refresh_models", "--source", str(path), "--write", no_color=True)
        snapshot.forget()
        return capsys.readouterr().out

    return run


def test_a_model_that_an_agent_has_stays_on_offer(
    make_agent: MakeAgent, client: APIClient, refresh: Callable[..., str]
) -> None:
    agent = make_agent(**KEY, model=UNUSED)
    gone = model("openai/gpt-6-astra", 10, 50, status="deprecated")
    assert f"kept: {UNUSED}: deprecated; in use by 1 agent\n" in refresh(gone, model("lab/nine", 9, 90))
    assert UNUSED in {entry["id"] for entry in client.get("/models").json()["models"]}
    named = client.patch(f"/agents/{agent.id}/llm-key", {"model": UNUSED}, format="json")
    assert (named.status_code, named.json()["agent"]["model"]) == (200, UNUSED)


def test_a_model_of_a_deleted_agent_is_not_in_use(make_agent: MakeAgent, refresh: Callable[..., str]) -> None:
    agent = make_agent(**KEY, model=UNUSED)
    lifecycle.delete(agent, actor="test")
    assert f"hidden: {UNUSED}: no longer listed\n" in refresh(model("lab/nine", 9, 90))


def test_an_agent_keeps_a_model_that_an_operator_hid(make_agent: MakeAgent, client: APIClient) -> None:
    agent = make_agent(**KEY, model=UNUSED)
    LlmModel.objects.filter(id=UNUSED).update(hidden=True)
    snapshot.forget()
    assert pods.config_of(agent).model == "openai/gpt-6-astra"
    assert client.get(f"/agents/{agent.id}").json()["agent"]["model"] == UNUSED
    agent = llm_key.install(agent, provider="openrouter", key="sk-or-v1-another")
    assert agent.model == UNUSED


def test_a_model_that_we_chose_for_an_agent_stays_its_model(make_agent: MakeAgent, refresh: Callable[..., str]) -> None:
    """An owner's agent does not get another model because a list has changed."""
    Persona.objects.exclude(id=PERSONA).update(recommended_models=[])
    agent = make_agent(**KEY)
    before = pods.config_of(agent).model
    assert models_in_use.counts() == {f"openrouter:{before}": 1}
    out = refresh(model("lab/nine", 1, 9, "2027-01-01"), model("lab/eight", 1, 9, "2027-01-01"))
    assert f"kept: openrouter:{before}: no longer listed; in use by 1 agent\n" in out
    assert pods.config_of(agent).model == before


def test_agents_without_a_key_use_no_model(make_agent: MakeAgent) -> None:
    make_agent()
    assert models_in_use.counts() == {}
