"""What `check --deploy` reports about engines and backups."""

from __future__ import annotations

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.checks import backups_have_a_store, engines_have_images
from agents.models import Agent

ALL = {name: f"registry.example/{name}:1" for name in ("pi", "hermes", "opencode", "claude-code", "openclaw", "n8n")}


@pytest.mark.parametrize(
    ("images", "found"),
    [
        (ALL, []),
        (
            {"pi": ALL["pi"]},
            ["not offered, because ENGINE_IMAGES names no image: hermes, opencode, claude-code, openclaw, n8n"],
        ),
        ({"hermes": ALL["hermes"]}, ["ENGINE_IMAGES names no image for pi"]),
    ],
)
def test_what_lacks_an_image_is_named(settings: Settings, images: dict[str, str], found: list[str]) -> None:
    settings.AGENT_RUNTIME, settings.ENGINE_IMAGES = "kubernetes", images
    assert [message.msg for message in engines_have_images()] == found


def test_local_pods_need_no_images(settings: Settings) -> None:
    settings.ENGINE_IMAGES = {}
    assert engines_have_images() == []


def test_no_agent_is_created_on_an_engine_without_an_image_and_those_that_are_stay(
    client: APIClient, running: Agent, settings: Settings
) -> None:
    Agent.objects.filter(pk=running.pk).update(engine="hermes")
    settings.AGENT_RUNTIME, settings.ENGINE_IMAGES = "kubernetes", {"pi": ALL["pi"]}
    given = {"personaId": running.persona_id, "tier": "small", "engine": "hermes"}
    refused = client.post("/agents", given, format="json")
    assert refused.status_code == 400
    assert refused.json()["message"].startswith("engine: 'hermes' is not an engine; allowed: pi")
    assert client.get(f"/agents/{running.pk}").json()["agent"]["engine"] == "hermes"


BUCKET = "s3:https://s3.example.com/bucket"


@pytest.mark.parametrize(
    ("runtime", "store", "url", "found"),
    [
        ("local", "", "", ["BACKUP_STORE is not set: no agent is backed up"]),
        ("local", "/srv/backups", "", []),
        ("kubernetes", BUCKET, "http://agentpods-backups.agentpods-system.svc:8300", []),
        ("kubernetes", BUCKET, "", ["BACKUP_URL or BACKUP_PORT is not set: no pod is backed up"]),
        ("kubernetes", "/srv/backups", "http://x:8300", ["BACKUP_STORE is a directory"]),
    ],
)
def test_backups_that_cannot_be_made_are_told(
    settings: Settings, runtime: str, store: str, url: str, found: list[str]
) -> None:
    settings.AGENT_RUNTIME, settings.BACKUP_STORE = runtime, store
    settings.BACKUP_URL, settings.BACKUP_PORT = url, 8300
    assert [message.msg for message in backups_have_a_store()] == found
