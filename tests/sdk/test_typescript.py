"""The TypeScript SDK: its own tests, on the Node.js of the engines, against a running service."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sdk.generate import typescript
from tests.agents.conftest import PERSONA
from tests.chromium import NODE
from tests.sdk.conftest import LiveService
from tests.sdk.driving.typescript import copied

SECONDS = 600


def test_its_types_are_those_of_the_document() -> None:
    assert typescript.is_current(typescript.ROOT / "openapi.yaml"), "run `make sdk`"


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.django_db(transaction=True)
def test_it_compiles_and_drives_a_service(service: LiveService, worker: None, tmp_path: Path) -> None:
    """Needs the registry of npm."""
    place = copied(tmp_path)
    compiler = place / "node_modules" / "typescript" / "bin" / "tsc"
    run(place, str(compiler), "--noEmit", "--project", "tsconfig.test.json")
    there = {"AGENTPODS_URL": service.url, "AGENTPODS_API_KEY": service.key, "PERSONA": PERSONA}
    said = run(place, "--test", "test/life.test.ts", **there)
    assert "# fail 0" in said or "ℹ fail 0" in said
    assert "skipped 0" in said
    assert typescript.schema(typescript.ROOT / "openapi.yaml") == typescript.SCHEMA.read_text(encoding="utf-8")


def run(place: Path, *words: str, **more: str) -> str:
    """What a Node.js program prints; it must succeed."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), **more}
    command = [str(NODE), *words]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
