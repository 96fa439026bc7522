"""Programs that are forks of the supervisor behave like programs that were started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.run import forks
from config.run.programs import programs
from tests.config.conftest import ROOT
from tests.coverage_scope import unmeasured

pytestmark = pytest.mark.unmeasured

SUPERVISOR = """
import json, os, sys
from pathlib import Path
from django.conf import settings
from config.run import forks
assert settings.SECRET_KEY  # read before the home has its secrets
Path(os.environ["AGENTPODS_HOME"], "secrets.env").write_text(f"SECRET_KEY={'s' * 60}")
forks.make_room()
may_fork = forks.warm_up()
parent = os.getpid()
child = os.fork()
if child == 0:
    environment = {**os.environ, "METRICS_PORT": "4321", "DATABASE_POOL_SIZE": "7", "ONLY_HERE": "yes"}
    forks.become("forked_program", ["--flag"], environment, parent=parent)
print(json.dumps([may_fork, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]))
"""
PROGRAM = """
import atexit, json, os, sys, threading
from pathlib import Path
from django.conf import settings
print(json.dumps({
    "name": __name__, "arguments": sys.argv[1:], "own": os.environ.get("ONLY_HERE"),
    "secret": settings.SECRET_KEY,
    "settings": [settings.METRICS_PORT, settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]],
    "shown": [word for word in Path("/proc/self/cmdline").read_text().split("\\0") if word][1:],
}))
atexit.register(print, "the end")
threading.Timer(0.1, print, ["a thread"]).start()
sys.exit(7)
"""


def test_our_own_programs_are_forked_and_others_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    for store in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(store)  # so that the embedded ones are used
    found = {program.name: forks.module_of(program.command) for program in programs()}
    assert found["web"] == ("config.run.web", [])
    assert (found["beat"] or ("",))[0] == "celery"
    assert (found["postgres"], found["redis"]) == (None, None)


def test_no_program_has_a_setting_of_its_own_that_a_fork_would_not_take() -> None:
    ours = [program for program in programs() if forks.module_of(program.command)]
    assert {name for program in ours for name in program.environment} <= forks.OWN_SETTINGS


def test_a_fork_has_its_own_arguments_environment_settings_and_end(tmp_path: Path) -> None:
    (tmp_path / "forked_program.py").write_text(PROGRAM)
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    environment = {**unmeasured(), "PYTHONPATH": path, "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment["AGENTPODS_HOME"] = str(tmp_path)
    environment.pop("SECRET_KEY", None)
    (tmp_path / "supervisor.py").write_text(SUPERVISOR)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "supervisor.py")],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told, *ended, parents = done.stdout.splitlines()
    assert json.loads(told) == {
        "name": "__main__",
        "arguments": ["--flag"],
        "own": "yes",
        "secret": "s" * 60,
        "settings": [4321, 7],
        "shown": ["-m", "forked_program", "--flag"],
    }
    assert ended == ["a thread", "the end"]
    assert json.loads(parents) == [True, 7]
