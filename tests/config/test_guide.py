"""The pages in docs/: all of them are in the navigation, and the site is built of them without a broken link."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.config.conftest import ROOT

pytestmark = pytest.mark.unmeasured

DOCS = ROOT / "docs"
WIDTH = 100
# Its text is the description in openapi.yaml, line by line; the specification is kept as it was given.
AS_THEY_ARE = {DOCS / "reference" / "api.md", DOCS / "spec.md"}
LINES = [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


def _navigation(entries: object) -> Iterator[str]:
    match entries:
        case str():
            yield entries
        case dict():
            for inner in entries.values():
                yield from _navigation(inner)
        case list():
            for inner in entries:
                yield from _navigation(inner)


def test_the_navigation_has_each_page_once() -> None:
    listed = list(_navigation(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("path", sorted(set(LINES) - AS_THEY_ARE), ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_are_short_where_they_can_be(path: Path) -> None:
    """Tables, links, code and what has no space in it may be longer."""
    text = re.sub(r"^ *```.*?^ *```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    long = [line for line in text.splitlines() if len(line) > WIDTH and not line.lstrip().startswith(("|", "!["))]
    assert [
        line for line in long if " " in re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|^\s*(?:[-*]|\d+\.)\s+", "", line)
    ] == []


def _build(copy: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "config.guide"]
    return subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What the guide is built of, and nothing else of the project."""
    shutil.copytree(DOCS, tmp_path / "docs")
    (tmp_path / "config").mkdir()
    shutil.copy(ROOT / "config" / "guide.py", tmp_path / "config")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    return tmp_path


def test_the_guide_is_built_of_its_pages_and_asks_nobody_else(copy: Path) -> None:
    done = _build(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    site = copy / "var" / "guide"
    for page in site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        assert re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', html) == [], page
        assert re.findall(r"\sstyle=|<style|\son[a-z]+=\"", html) == [], page  # the policy has no room for them
    assert (site / "tutorials" / "first-agent-by-api" / "index.html").exists()
    before = (site / "index.html").stat().st_mtime_ns
    assert _build(copy).returncode == 0
    assert (site / "index.html").stat().st_mtime_ns == before  # nothing has changed, so nothing is built


@pytest.mark.parametrize("broken", ["[a](nothing.md)", "[a](spec.md#nothing)"])
def test_a_broken_link_ends_the_build(copy: Path, broken: str) -> None:
    with (copy / "docs" / "index.md").open("a") as page:
        page.write(f"\n{broken}\n")
    done = _build(copy)
    assert done.returncode != 0
    assert "index.md" in done.stdout + done.stderr
