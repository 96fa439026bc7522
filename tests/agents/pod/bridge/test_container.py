"""A bridge in a container: it starts from a file, uses the image's Node, and can write to few places."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.pod.bridge import install, program
from tests.agents.pod.bridge.conftest import MakeBridge
from tests.agents.pod.bridge.process import ROOT


def test_it_starts_from_a_file_and_runs_the_engine_with_the_images_node(
    make_bridge: MakeBridge, tmp_path: Path
) -> None:
    node = tmp_path / "opt" / "node"
    node.parent.mkdir()
    node.symlink_to(install.node())
    bridge = make_bridge()
    bridge.start(node=str(node), document=tmp_path / "start.json")
    bridge.wait_for("ready")
    assert bridge.engines()[0].cmdline()[0] == str(node)


# aiohttp and psutil, and the packages that aiohttp needs.
PACKAGES = {
    "aiohappyeyeballs", "aiohttp", "aiosignal", "attr", "frozenlist", "idna", "multidict", "propcache", "psutil",
    "typing_extensions", "yarl",
}  # fmt: skip
WHAT_IS_IMPORTED = """
import sys
before = set(sys.modules)
import agents.pod.{program}.__main__
files = {{name: getattr(module, "__file__", None) or "" for name, module in sys.modules.items() if name not in before}}
print(*{{name.partition(".")[0] for name, file in files.items() if "site-packages" in file}})
"""


@pytest.mark.parametrize("name", ["bridge", "gateway"])
def test_a_pods_program_needs_two_packages_and_theirs(name: str) -> None:
    command = [sys.executable, "-c", WHAT_IS_IMPORTED.format(program=name)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert set(done.stdout.split()) <= PACKAGES


def test_a_user_without_a_home_or_a_place_for_temporary_files_has_them_on_the_agents_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    program._find_room(tmp_path)
    assert (os.environ["HOME"], os.environ["TMPDIR"]) == (str(tmp_path / "home"), str(tmp_path / "tmp"))
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


def test_a_home_that_can_be_written_to_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    program._find_room(tmp_path / "data")
    assert os.environ["HOME"] == str(tmp_path)


def test_data_that_the_cluster_opened_to_the_pods_group_is_closed_again(tmp_path: Path) -> None:
    data = tmp_path / "agent"
    data.mkdir()
    data.chmod(0o2770)
    with program._sole_bridge(data):
        assert data.stat().st_mode & 0o777 == 0o700
