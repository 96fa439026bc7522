"""`python -m tests.mutants [MODULE…]`: try the mutants of the modules in modules.toml, and tell which survived.

A survivor that changes nothing a customer could see is listed in harmless.toml with the reason. It counts as looked at,
not as killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from tests.stores import TEMPLATE, StoreServers, environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "var" / "mutants"
LEAST_PERCENT = 90


def main(names: list[str]) -> int:
    modules = tomllib.loads((HERE / "modules.toml").read_text())
    if unknown := set(names) - set(modules):
        say(f"{', '.join(sorted(unknown))}: the modules are {', '.join(modules)}")
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    stores = StoreServers()
    os.environ.update(environment(stores.root / "home"), DATABASE_URL=stores.database_url, REDIS_URL=stores.redis_url)
    os.environ["BACKUP_STORE"] = "off"  # as in tests/conftest.py, which comes too late: the plugin reads the settings
    os.environ["AGENTPODS_TEST_TEMPLATE"] = TEMPLATE
    stores.embedded.update({"DATABASE_URL", "REDIS_URL"})
    try:
        stores.start()
        stores.create_template()
        passed = [_try(name, modules[name]) for name in names or modules]
    finally:
        stores.stop()
    return 0 if all(passed) else 1


def _try(name: str, module: dict[str, Any]) -> bool:
    """Try the mutants of one module, print what became of them. Whether enough were killed."""
    results = RESULTS / f"{name}.json"
    again = ["--again"] if os.environ.get("AGAIN") and results.exists() else []
    command = [sys.executable, "-m", "pytest", "-p", "tests.mutants.trying", "-p", "no:randomly", "-q", "--no-header"]
    own = ["--mutate", module["file"], "--results", str(results), *again, *module["tests"]]
    began = time.monotonic()
    say(f"\n{name}: {module['file']}")
    if subprocess.run([*command, *own], cwd=ROOT, check=False).returncode:
        return False
    tried = json.loads(results.read_text())
    _print_survivors(name, tried)
    return _print_figures(name, tried, time.monotonic() - began)


def _print_survivors(name: str, tried: list[dict[str, Any]]) -> None:
    harmless = tomllib.loads((HERE / "harmless.toml").read_text()).get(name, [])
    reasons = {(one["line"], one["becomes"]): one["why"] for one in harmless}
    seen = set()
    for one in tried:
        if one["result"] == "survived":
            seen.add(_change(one["diff"]))
            reason = reasons.get(_change(one["diff"]))
            say(f"\n{one['operator']}, line {one['line']} ({one['by']})")
            say(f"harmless: {reason}" if reason else "NOT LOOKED AT")
            say(one["diff"])
        elif one["result"] == "timeout":
            say(f"\n{one['operator']}, line {one['line']}: ended by {one['by']}\n{one['diff']}")
    for line, becomes in reasons.keys() - seen:
        say(f"\nharmless.toml: this one does not survive any more: {line} -> {becomes}")


def _change(diff: str) -> tuple[str, str]:
    lines = diff.splitlines()
    before, after = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return " ".join(before).strip(), " ".join(after).strip()


def _print_figures(name: str, tried: list[dict[str, Any]], seconds: float) -> bool:
    count = Counter(one["result"] for one in tried)
    dead, all_of_them = count["killed"] + count["timeout"], len(tried) - count["unloadable"]
    percent = 100 * dead / all_of_them
    say(
        f"\n{name}: {percent:.1f} % of {all_of_them} mutants killed: {count['killed']} by tests, {count['timeout']} by"
        f" the time limit; {count['survived']} survived; {seconds:.0f} s"
        f" ({count['unloadable']} more were no working module)"
    )
    return percent >= LEAST_PERCENT


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
