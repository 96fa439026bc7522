"""What the gateway leaves in the volume that the engine's container sees."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agents.pod import copy_bridge


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "bundle" / "bin").mkdir(parents=True)
    (tmp_path / "bundle" / "lib").mkdir()
    (tmp_path / "bundle" / "bin" / "python").write_text("program")
    (tmp_path / "bundle" / "bin" / "python").chmod(0o755)
    (tmp_path / "bundle" / "lib" / "libm.so").symlink_to("libm.so.6")
    return tmp_path / "bundle"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    (tmp_path / "agentpods").mkdir()
    return tmp_path / "agentpods"


def test_programs_stay_programs_and_links_stay_links(bundle: Path, volume: Path) -> None:
    copy_bridge.main([str(bundle), str(volume)])
    assert os.access(volume / "bin" / "python", os.X_OK)
    assert (volume / "lib" / "libm.so").readlink() == Path("libm.so.6")


def test_what_a_killed_run_left_is_replaced(bundle: Path, volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "touch", _killed)
    with pytest.raises(KeyboardInterrupt):
        copy_bridge.copy(bundle, volume)
    (volume / "lib" / "half").write_text("written when it was killed")
    monkeypatch.undo()
    copy_bridge.copy(bundle, volume)
    assert not (volume / "lib" / "half").exists()
    assert (volume / "whole").exists()


def _killed(_: Path) -> None:
    raise KeyboardInterrupt


def test_a_whole_bridge_is_left_alone_for_an_engine_runs_from_it(bundle: Path, volume: Path) -> None:
    copy_bridge.copy(bundle, volume)
    running = (volume / "bin" / "python").stat()
    copy_bridge.copy(bundle, volume)
    assert (volume / "bin" / "python").stat() == running


def test_it_becomes_the_program_that_is_named(bundle: Path, volume: Path) -> None:
    then = ["--then", "-c", "import os, sys; print(os.getpid(), sys.argv[1])", "--start=x"]
    command = [sys.executable, "-m", "agents.pod.copy_bridge", str(bundle), str(volume), *then]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        said, _ = process.communicate(timeout=20)
    assert said.split() == [str(process.pid), "--start=x"]
    assert (volume / "whole").exists()


def test_the_volume_itself_is_left_as_the_cluster_made_it(
    bundle: Path, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume.chmod(0o2770)
    touched: list[Path] = []
    monkeypatch.setattr("shutil.copystat", lambda _, path, **__: touched.append(Path(path)))
    copy_bridge.copy(bundle, volume)
    assert volume not in touched
    assert volume.stat().st_mode & 0o7777 == 0o2770
