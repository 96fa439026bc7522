"""axe-core, which finds accessibility barriers in a page. It is installed from npm once and runs inside the page."""

from __future__ import annotations

import fcntl
import shutil
from functools import cache
from pathlib import Path

from playwright.async_api import Page

from tests.chromium import install

ROOT = Path(__file__).resolve().parent.parent
RECIPE = Path(__file__).resolve().parent / "npm" / "axe"
CACHE = ROOT / "var" / "axe"
GRAVE = frozenset({"serious", "critical"})
ANY = GRAVE | {"moderate", "minor"}
RUN = """
axe.run(document, { resultTypes: ["violations"] }).then(found => found.violations.map(one => ({
  id: one.id, impact: one.impact, nodes: one.nodes.map(node => node.target.join(" ") + " " + node.failureSummary),
})))
"""


@cache
def script() -> str:
    """The text of the program. The first call installs it; other test processes wait."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program, wanted = CACHE / "axe.min.js", (RECIPE / "package-lock.json").read_bytes()
        if not program.exists() or (CACHE / "package-lock.json").read_bytes() != wanted:
            install(RECIPE, CACHE)
            shutil.copy(CACHE / "node_modules" / "axe-core" / "axe.min.js", program)
            for waste in ("node_modules", ".npm"):
                shutil.rmtree(CACHE / waste)
        return program.read_text(encoding="utf-8")


async def barriers(page: Page, *, impacts: frozenset[str] = GRAVE) -> list[str]:
    """The barriers of these impacts on the open page: rule and element."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(f"{script()}; 0")
    found = await page.evaluate(RUN)
    return [f"{one['id']}: {node}" for one in found if one["impact"] in impacts for node in one["nodes"]]
