"""Engines from PyPI. A directory with a tiny wheel is the registry."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from agents.engines.base import Engine, EnginePlace, PypiPackage
from agents.engines.hermes import HERMES
from agents.pod.bridge import install
from agents.pod.bridge.commands import InstallError
from agents.pod.bridge.log import EngineLog
from tests.agents.pod.bridge.conftest import MakeBridge

SOURCE = """
import sys
print("tiny engine", "1.2.3")
print(*sys.path, sep="\\n")
"""


@dataclass
class Tiny:
    package: PypiPackage
    id: str = "tiny"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return wheels


@pytest.fixture
def tiny(registry: Path, tmp_path: Path) -> Tiny:
    wheel = registry / "tiny_engine-1.2.3-py3-none-any.whl"
    about = "tiny_engine-1.2.3.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_engine.py", SOURCE)
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tiny-engine\nVersion: 1.2.3\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    recipe = tmp_path / "recipe"
    recipe.mkdir()
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (recipe / "requirements.txt").write_text(f"tiny-engine==1.2.3 --hash=sha256:{digest}\n")
    return Tiny(PypiPackage(name="tiny-engine", version="1.2.3", recipe=recipe, module="tiny_engine"))


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    target = tmp_path / "engines" / "tiny-1.2.3"
    return EnginePlace(
        install=target, node=install.node(), data=tmp_path / "data", memory_bytes=2**30, port=1, password="secret"
    )


def put(tiny: Tiny, place: EnginePlace, tmp_path: Path) -> list[str]:
    """Install the engine. Returns the messages about the progress."""
    told: list[str] = []
    asyncio.run(install.install(cast("Engine", tiny), place, EngineLog(), told.append))
    return told


def said(tiny: Tiny, place: EnginePlace) -> list[str]:
    python = str(place.install / tiny.package.python)
    command = [python, "-I", "-m", tiny.package.module]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def test_what_the_lock_says_is_installed_and_runs_where_it_was_moved_to(
    tiny: Tiny, place: EnginePlace, tmp_path: Path
) -> None:
    begin, *_, last = put(tiny, place, tmp_path)
    assert begin == "installing tiny-engine 1.2.3: 0 of 1 packages (0 %)"
    assert last == "installing tiny-engine 1.2.3: all packages are installed, and its version is being checked"
    assert put(tiny, place, tmp_path) == [], "it is there"
    assert install.is_installed(cast("Engine", tiny), place.install)
    assert said(tiny, place)[0] == "tiny engine 1.2.3"
    assert [entry.name for entry in place.install.parent.iterdir() if ".new-" in entry.name] == []


def test_who_waits_for_another_installation_hears_how_far_that_is(
    tiny: Tiny, place: EnginePlace, tmp_path: Path
) -> None:
    told: list[list[str]] = [[], []]

    async def both() -> None:
        engine = cast("Engine", tiny)
        await asyncio.gather(*(install.install(engine, place, EngineLog(), each.append) for each in told))

    asyncio.run(both())
    waited = [each for each in told if each[0].startswith("another agent of this machine is installing it: ")]
    assert len(waited) == 1
    assert any("installing tiny-engine 1.2.3: 1 of 1 packages (100 %)" in words for each in told for words in each)


def test_the_engine_sees_its_own_packages_and_none_of_ours(tiny: Tiny, place: EnginePlace, tmp_path: Path) -> None:
    put(tiny, place, tmp_path)
    packages = [path for path in said(tiny, place) if "site-packages" in path]
    assert packages == [str(place.install / "lib" / "python3.11" / "site-packages")]


def test_a_package_whose_hash_is_another_is_refused_and_leaves_nothing(
    tiny: Tiny, place: EnginePlace, tmp_path: Path
) -> None:
    tiny.package.lock.write_text(f"tiny-engine==1.2.3 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(InstallError, match=r"pip failed .*HASHES"):
        put(tiny, place, tmp_path)
    assert list(place.install.parent.glob("*tiny-1.2.3*")) == [place.install.with_name(".tiny-1.2.3.lock")]


def test_a_package_of_another_version_than_it_says_is_refused(tiny: Tiny, place: EnginePlace, tmp_path: Path) -> None:
    package = tiny.package
    claimed = PypiPackage(name=package.name, version="9.9", recipe=package.recipe, module=package.module)
    with pytest.raises(InstallError, match=r"says it is 'tiny engine 1\.2\.3"):
        put(Tiny(claimed), place, tmp_path)


def test_an_engine_that_pypi_does_not_give_is_the_cause_install(make_bridge: MakeBridge, tmp_path: Path) -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    bridge = make_bridge(environment=nowhere)
    bridge.start(engine=HERMES.id)
    state = bridge.wait_for("failed", within=60)
    assert state["cause"] == "INSTALL"
    assert "pip failed" in state["message"]
    assert state["evidence"]
    assert not list(bridge.cache.glob(".hermes-*.new-*"))
