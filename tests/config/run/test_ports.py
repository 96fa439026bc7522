"""Occupied ports are reported before anything is installed, so this code needs only the standard library."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import settings
from config.run import ports
from tests.config.conftest import ROOT
from tests.ports import free_port

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))
        server.listen()
        yield server.getsockname()[1]


def make(target: str, *variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", target, *variables]
    return subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=60, check=False)


def test_a_taken_port_is_told_before_anything_is_installed(taken: int, tmp_path: Path) -> None:
    refused = make("run", f"VENV={tmp_path}/venv", f"PORT={taken}", f"PYTHON={sys.executable}")
    assert refused.returncode != 0
    name = Path("/proc/self/comm").read_text().strip()
    assert f"port {taken} is taken by {name} (pid {os.getpid()})" in refused.stderr
    assert "make run PORT=" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_another_python_is_refused_before_anything_else(taken: int, tmp_path: Path) -> None:
    another = tmp_path / "python"
    another.write_text("#!/bin/sh\nexit 1\n")
    another.chmod(0o755)
    for target in ("run", "setup"):
        refused = make(target, f"VENV={tmp_path}/venv", f"PYTHON={another}", f"PORT={taken}")
        assert refused.returncode != 0
        assert "Python 3.11 is needed" in refused.stderr
        assert str(taken) not in refused.stderr
    assert "no python3" in make("run", f"VENV={tmp_path}/venv", "PYTHON=").stderr
    assert list(tmp_path.iterdir()) == [another]


def test_the_port_that_is_proposed_is_free_as_is_the_routers_beside_it(taken: int) -> None:
    with socket.socket() as also:
        also.bind(("127.0.0.1", taken + ports.STEP + 1))
        with pytest.raises(ports.PortTaken, match=f"port {taken} is taken") as refused:
            ports.check({"PORT": taken})
        proposed = int(str(refused.value).rpartition("PORT=")[2].rstrip("`"))
        assert proposed > taken + ports.STEP
        ports.check({"PORT": proposed, "ROUTER_PORT": proposed + 1})


def test_two_programs_on_one_port_are_refused() -> None:
    with pytest.raises(ports.PortTaken, match="PORT and ROUTER_PORT are both 8000"):
        ports.check({"PORT": 8000, "ROUTER_PORT": 8000})


def test_the_ports_are_those_of_the_settings() -> None:
    assert ports.chosen(os.environ) == {"PORT": settings.PORT, "ROUTER_PORT": settings.ROUTER_PORT}
    assert ports.chosen({}) == {"PORT": 8000, "ROUTER_PORT": 8001}
    assert ports.chosen({"PORT": "9000"}) == {"PORT": 9000, "ROUTER_PORT": 9001}
    assert ports.chosen({"PORT": "9000", "ROUTER_PORT": " 9009 "}) == {"PORT": 9000, "ROUTER_PORT": 9009}


@pytest.mark.parametrize("value", ["x", "-1", "0", "65536", "8_0"])
def test_what_is_no_port_is_named(value: str) -> None:
    with pytest.raises(ValueError, match=f"PORT='{value}'"):
        ports.chosen({"PORT": value})
