"""The command `manage.py refresh_models`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from rest_framework.test import APIClient

from catalog import loading, snapshot
from catalog.models import LlmModel
from tests.catalog.listed import document, model, provider
from tests.doubles.models_list import ModelsList

pytestmark = pytest.mark.usefixtures("catalog")

GROQ = provider(
    "groq",
    model("openai/gpt-oss-120b", 0.2, 0.6),
    model("openai/gpt-oss-20b", 0.075, 0.3, status="deprecated"),
    model("llama-9", 0.1, 0.4, "2026-11-01"),
    model("whisper-9", 0.1, 0.1, tool_call=False),
    model("odd-1", -1, 1),
)


def run(*arguments: str) -> list[str]:
    out = StringIO()
    call_command("refresh_models", *arguments, stdout=out, no_color=True)
    snapshot.forget()
    return out.getvalue().splitlines()


def models_of(api: APIClient, name: str) -> dict[str, Any]:
    answer = api.get(f"/models?provider={name}").json()
    return {entry["id"]: entry for entry in answer["models"]}


@pytest.fixture
def listed(tmp_path: Path) -> str:
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document(GROQ)), encoding="utf-8")
    return str(path)


def test_it_prints_the_diff_and_writes_nothing_unless_told(listed: str, catalog: loading.Report) -> None:
    before = list(LlmModel.objects.order_by("id").values())
    dry = run("--source", listed)
    assert dry == run("--source", listed, "--dry-run")
    assert list(LlmModel.objects.order_by("id").values()) == before
    assert dry[:2] == [
        "added: groq:llama-9 (Llama-9): 0.1 / 0.4 cheap",
        "repriced: groq:openai/gpt-oss-120b: 0.15 / 0.6 cheap -> 0.2 / 0.6 cheap",
    ]
    assert "hidden: groq:openai/gpt-oss-20b: deprecated" in dry
    assert "untouched: nous: not in the list" in dry
    assert "skipped: 1 no tool calls" in dry
    assert "malformed: groq:'odd-1': cost.input: -1 is not a price of 0 to 10000 USD per 1M tokens" in dry
    assert dry[-1] == (
        "models: 1 added, 1 repriced, 0 returned, 1 hidden, 1 kept, 0 unchanged "
        "(nothing written; --write changes the catalog)"
    )


def test_what_it_writes_is_what_visitors_see(listed: str, api: APIClient) -> None:
    assert run("--source", listed, "--write")[-1].endswith("unchanged (written)")
    groq = models_of(api, "groq")
    assert groq["groq:llama-9"] == {
        "id": "groq:llama-9",
        "provider": "groq",
        "name": "llama-9",
        "label": "Llama-9",
        "costTier": "cheap",
    }
    assert "groq:openai/gpt-oss-20b" not in groq
    again = run("--source", listed, "--write")
    assert not [line for line in again if line.startswith(("added", "repriced", "returned", "hidden"))]


def test_it_reads_an_address() -> None:
    with ModelsList(document(GROQ)) as served:
        assert "added: groq:llama-9 (Llama-9): 0.1 / 0.4 cheap" in run(
            "--source", served.url, "--write", "--newest", "1"
        )
    assert LlmModel.objects.get(id="groq:llama-9").source == "127.0.0.1"


def test_a_source_that_cannot_be_read_ends_it_and_nothing_is_written(tmp_path: Path) -> None:
    before = list(LlmModel.objects.order_by("id").values())
    with pytest.raises(CommandError, match=r"nothing was written: cannot read the file: .*nowhere\.json"):
        run("--source", str(tmp_path / "nowhere.json"), "--write")
    assert list(LlmModel.objects.order_by("id").values()) == before


@pytest.mark.parametrize("number", ["0", "-1", "101", "two", "²"])
def test_the_number_of_models_is_bounded(listed: str, number: str) -> None:
    with pytest.raises(CommandError, match="must be a number from 1 to 100"):
        run("--source", listed, f"--newest={number}")


def test_writing_and_not_writing_at_once_is_refused(listed: str) -> None:
    with pytest.raises(CommandError, match="not allowed with"):
        run("--source", listed, "--write", "--dry-run")
