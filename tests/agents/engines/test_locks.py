"""Installed packages are the reviewed ones: each engine's lock holds the hash of each package."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from agents.engines import ENGINES
from agents.engines.base import NpmPackage, PypiPackage

pytestmark = pytest.mark.unmeasured

# Prints which program opencode runs on a machine of another kind.
ENTRY_ELSEWHERE = """
import platform
platform.machine = lambda: "aarch64"
from agents.engines.opencode import OPENCODE
print(OPENCODE.package.entry)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_each_package_of_a_lock_has_a_hash(engine: str) -> None:
    package = ENGINES[engine].package
    lock = package.lock.read_text(encoding="utf-8")
    if isinstance(package, NpmPackage):
        entries = json.loads(lock)["packages"].items()
        # A bundled package is in the archive of the package around it, and that archive has a hash.
        packages = {name: entry for name, entry in entries if name and not entry.get("inBundle")}
        assert packages
        assert not [name for name, entry in packages.items() if not entry.get("integrity", "").startswith("sha512-")]
    if isinstance(package, PypiPackage):
        entries = re.findall(r"^\w.*(?:\n[ \t]+.*)*", lock, re.MULTILINE)
        assert entries
        assert not [entry for entry in entries if "--hash=sha256:" not in entry]


def test_on_arm64_opencode_has_no_program() -> None:
    """The opencode package for that machine has no hash, so it is not in the lock."""
    entry = subprocess.run([sys.executable, "-c", ENTRY_ELSEWHERE], capture_output=True, text=True, check=True).stdout
    assert entry.strip() == "node_modules/opencode-for-this-machine/bin/opencode"
