"""How `.venv` is created, with a lock file for one package in a local directory, as behind a mirror."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.config.conftest import ROOT

pytestmark = pytest.mark.unmeasured

ENVIRONMENT = ROOT / "config" / "run" / "environment.py"
UV = Path(sysconfig.get_path("scripts"), "uv")
METADATA = "Metadata-Version: 2.1\nName: only\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock file that pins the package `only` in tmp_path/wheels."""
    wheel = tmp_path / "wheels" / "only-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as file:
        info = "only-1.0.dist-info"
        file.writestr("only.py", "here = True\n")
        for name, text in {"METADATA": METADATA, "WHEEL": WHEEL, "RECORD": "only.py,,\n"}.items():
            file.writestr(f"{info}/{name}", text)
    lock = tmp_path / "one.lock"
    lock.write_text(f"only==1.0 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return lock


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment that uses our pip and uv: installing its own takes seconds."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    place = next(venv.glob("lib/python*/site-packages"))
    (place / "ours.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (venv / "bin" / "uv").symlink_to(UV)
    return venv


def install(venv: Path, lock: Path, *, needs: int = 0) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    place = lock.parent
    told = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place / "wheels"), "UV_CACHE_DIR": str(place / "uv")}
    options = ["--stamp", str(venv / "installed-run-2"), "--needs", str(needs)]
    command = [sys.executable, "-I", str(ENVIRONMENT), str(venv), str(lock), *options]
    return subprocess.run(command, env=kept | told, capture_output=True, text=True, timeout=300, check=False)


def has(venv: Path) -> bool:
    imported = subprocess.run([venv / "bin" / "python", "-c", "import only"], capture_output=True, check=False)
    return imported.returncode == 0


def test_uv_installs_from_where_pip_is_told_to(venv: Path, lock: Path) -> None:
    (venv / "installed-run-1").touch()
    (venv / "installed-tests-1").touch()
    done = install(venv, lock)
    assert done.returncode == 0, done.stderr
    assert "1 packages" in done.stderr
    assert "so pip installs" not in done.stderr
    assert has(venv)
    assert sorted(path.name for path in venv.glob("installed-*")) == ["installed-run-2", "installed-tests-1"]


@pytest.mark.sampled
def test_where_uv_cannot_install_pip_does(venv: Path, lock: Path) -> None:
    (venv / "bin" / "uv").unlink()
    (venv / "bin" / "uv").write_text("#!/bin/sh\necho no such index; exit 2\n")
    (venv / "bin" / "uv").chmod(0o755)
    done = install(venv, lock)
    assert done.returncode == 0, done.stderr
    assert "no such index\nuv failed, so pip installs" in done.stderr
    assert has(venv)


@pytest.mark.sampled
def test_a_package_with_another_hash_is_not_installed_and_the_next_try_begins_anew(venv: Path, lock: Path) -> None:
    right = lock.read_text()
    lock.write_text(right[:-3] + ("00\n" if right[-3:-1] != "00" else "11\n"))
    refused = install(venv, lock)
    assert refused.returncode == 1
    assert "hash" in refused.stderr.lower()
    assert not has(venv)
    assert list(venv.glob("installed-*")) == []
    assert (venv / "unfinished").exists()


def test_without_room_on_the_disk_nothing_is_begun(tmp_path: Path, lock: Path) -> None:
    refused = install(tmp_path / "fresh", lock, needs=10**12)
    assert refused.returncode == 1
    assert "needs 1000000000000 MB of disk" in refused.stderr
    assert not (tmp_path / "fresh").exists()
