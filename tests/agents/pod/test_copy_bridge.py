"""What the init container leaves in the volume."""

from __future__ import annotations

import os
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
    copy_bridge.main([str(volume), f"--bundle={bundle}"])
    assert os.access(volume / "bin" / "python", os.X_OK)
    assert (volume / "lib" / "libm.so").readlink() == Path("libm.so.6")


def test_what_an_earlier_run_left_is_replaced(bundle: Path, volume: Path) -> None:
    copy_bridge.copy(bundle, volume)
    (volume / "lib" / "half").write_text("written when it was killed")
    (bundle / "bin" / "python").write_text("newer")
    copy_bridge.copy(bundle, volume)
    assert not (volume / "lib" / "half").exists()
    assert (volume / "bin" / "python").read_text() == "newer"


def test_the_volume_itself_is_left_as_the_cluster_made_it(
    bundle: Path, volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume.chmod(0o2770)
    touched: list[Path] = []
    monkeypatch.setattr("shutil.copystat", lambda _, path, **__: touched.append(Path(path)))
    copy_bridge.copy(bundle, volume)
    assert volume not in touched
    assert volume.stat().st_mode & 0o7777 == 0o2770
