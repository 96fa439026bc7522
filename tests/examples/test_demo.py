"""The whole demo, against its own service with a real engine. Heavy: `make test-engines`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.runtimes.local import programs

pytestmark = pytest.mark.unmeasured

ROOT = Path(__file__).resolve().parents[2]


def demo(*arguments: str, seconds: float, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the demo as a stranger would: of the test's environment it gets only the access to the package registries."""
    kept = {"ENGINE_CACHE", "ANVIL"}
    environment = {name: value for name, value in os.environ.items() if name in kept or programs.is_inherited(name)}
    command = [sys.executable, "examples/demo.py", "--model-port", "0", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment | more, timeout=seconds, capture_output=True, text=True, check=False
    )


@pytest.mark.engines
def test_an_agent_lives_its_whole_life_as_the_interface_says(closed_port: int) -> None:
    start = f"{sys.executable} -m config.run"
    done = demo("--base-url", f"http://127.0.0.1:{closed_port}", "--start", start, seconds=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All steps gave the results that the interface describes." in done.stdout


def test_without_a_service_the_demo_says_how_to_start_one(closed_port: int) -> None:
    done = demo(seconds=60, PORT=str(closed_port))
    assert done.returncode == 2
    assert f"This demo cannot use http://127.0.0.1:{closed_port}: nothing answers there" in done.stdout
    assert "PORT or BASE_URL say where" in done.stdout
    assert "make run" in done.stdout
    assert "CRYPTO_XPUB=xpub" in done.stdout
