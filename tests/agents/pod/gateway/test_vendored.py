"""The libraries of the chat page are exactly the published files, and their licences are there."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from agents.pod.gateway import pages

VENDOR = Path(pages.__file__).parent / "assets" / "vendor"


def test_each_library_is_the_one_that_its_line_names() -> None:
    table = (VENDOR / "README.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| ([\w-]+) \| [\d.]+ \| dist/(\S+) \| ([0-9a-f]{64}) \|", table, re.MULTILINE)
    found = {(name, Path(path).name, digest) for name, path, digest in lines}
    there = {
        (file.parent.name, file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in VENDOR.glob("*/*.js")
    }
    assert found == there
    assert all((VENDOR / name / "LICENSE").stat().st_size for name, _, _ in found)
