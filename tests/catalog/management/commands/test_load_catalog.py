"""The command `manage.py load_catalog`."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from catalog.models import Tier

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("load_catalog", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_it_says_what_it_did() -> None:
    first = run()
    assert "created: tier tiny\n" in first
    assert "created, 0 updated" in first.splitlines()[-1]
    assert run().startswith("catalog: 0 created, 0 updated, 0 restored, 0 hidden, 0 kept, ")


def test_it_reports_what_it_kept_and_replaces_it_when_asked() -> None:
    run()
    tier = Tier.objects.get(id="tiny")
    tier.name = "Mini"
    tier.save()
    assert "kept as edited here: tier tiny (name); --overwrite replaces it\n" in run()
    assert "updated: tier tiny\n" in run("--overwrite")


def test_wrong_files_end_it_with_every_problem(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"nothing was written:\ntiers\.yaml: .*\nllm_providers\.yaml: "):
        run("--source", str(tmp_path))
