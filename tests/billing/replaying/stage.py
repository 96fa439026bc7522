"""Separate processes that send requests to our API or run tasks. Each process can kill itself at a given point.

`WorkProcess` starts one process that has loaded everything and has no open connection, and forks the others from it.
Each process counts points: each statement, and both sides of each COMMIT. Before the point `die_at` it gets SIGKILL.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from tests.coverage_scope import unmeasured

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
FORM = "application/x-www-form-urlencoded"
BROKEN, AGAIN = -1, {409, 429}
PATIENCE, PAUSE = 900, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """A request to our API, a task that a worker runs, or a rule (for a task that does nothing at this time)."""

    path: str = ""
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    form: bool = False
    raw: str = ""  # a body in which every byte counts
    task: str = ""
    rule: str = ""
    arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a process: the statuses of its answers, or the point where it was killed."""

    answers: list[int]
    points: int
    killed: str

    @property
    def died(self) -> bool:
        return bool(self.killed)


class WorkProcess:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.billing.replaying.stage"],
            cwd=ROOT,
            env={**unmeasured(), "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "CRITICAL", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self,
        told: Sequence[WorkOrder],
        *,
        settings: Mapping[str, Any],
        now: datetime,
        processes: int = 1,
        times: int = 1,
        die_at: int = 0,
        seed: int | None = None,
        patient: bool = False,
    ) -> list[ProcessEnd]:
        """Run these in processes. `seed` shuffles the order in each process; `patient` repeats failed requests."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("started without pipes")
        job = {
            "told": [asdict(one) for one in told],
            "settings": dict(settings),
            "now": now.isoformat(),
            "processes": processes,
            "times": times,
            "die_at": die_at,
            "seed": seed,
            "patient": patient,
        }
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return [ProcessEnd(**one) for one in json.loads(self._process.stdout.readline())]


class Points:
    """Counts the points. Before the point `die_at` it writes the name of that point, and kills the process."""

    def __init__(self, die_at: int, out: int) -> None:
        self.passed, self._die_at, self._out = 0, die_at, out

    def passing(self, what: str) -> None:
        self.passed += 1
        if self.passed == self._die_at:
            _say(self._out, {"answers": [], "points": self.passed, "killed": what})
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, connection: Any) -> None:
        commit: Callable[[], None] = connection._commit

        def committed() -> None:
            self.passing("before COMMIT")
            commit()
            self.passing("after COMMIT")

        def executed(execute: Any, sql: str, *rest: Any) -> Any:
            self.passing(f"before {' '.join(str(sql).split())[:160]}")
            return execute(sql, *rest)

        connection._commit = committed
        connection.execute_wrappers.append(executed)


def main() -> None:
    import django  # must come before imports of our code

    django.setup()
    for name in ("config.urls", "billing.tasks"):  # loaded once here instead of in each fork
        import_module(name)
    for line in sys.stdin:
        job = json.loads(line)
        children = [_forked(job, number) for number in range(job["processes"])]
        sys.stdout.write(json.dumps([_end_of(pid, pipe) for pid, pipe in children]) + "\n")
        sys.stdout.flush()


def _forked(job: Json, number: int) -> tuple[int, int]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # stdout is only for the stage's answers
    try:
        _act(job, number, writing)
    except BaseException:  # noqa: BLE001 # the stage only learns that it broke
        traceback.print_exc()
    finally:
        os._exit(0)


def _end_of(pid: int, pipe: int) -> Json:
    with os.fdopen(pipe) as said:
        text = said.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    end: Json = json.loads(text) if text else {"answers": [], "points": 0, "killed": ""}
    if bool(end["killed"]) != (status == -signal.SIGKILL) or not text:
        return {"answers": [-1], "points": 0, "killed": ""}  # an error in the fork: no test accepts this answer
    return end


def _act(job: Json, number: int, out: int) -> None:
    import time_machine
    from django.conf import settings
    from django.db import connection
    from django.utils import timezone

    from config import clock

    for name, value in job["settings"].items():
        setattr(settings, name, value)
    clock.now = timezone.now  # the database's clock differs from the stage's
    points = Points(job["die_at"], out)
    points.watch(connection)
    told = [WorkOrder(**one) for one in job["told"]] * job["times"]
    if job["seed"] is not None:
        random.Random(f"{job['seed']} {number}").shuffle(told)
    with time_machine.travel(datetime.fromisoformat(job["now"]), tick=job["patient"]):
        answers = [tell_until_heard(one) if job["patient"] else tell(one) for one in told]
    _say(out, {"answers": answers, "points": points.passed, "killed": ""})


def tell(one: WorkOrder) -> int:
    """Send this request or run this task in this process. Returns the status, or 0 for a task."""
    from celery import current_app
    from django.utils import timezone
    from rest_framework.test import APIClient

    if one.rule:
        module, _, name = one.rule.rpartition(".")
        getattr(import_module(module), name)(now=timezone.now())
        return 0
    if one.task:
        import_module(f"{one.task.partition('.')[0]}.tasks")
        current_app.tasks[one.task](*one.arguments)
        return 0
    caller = APIClient(raise_request_exception=False)
    given = {"data": one.body, "content_type": FORM} if one.form else {"data": one.body, "format": "json"}
    if one.raw:
        given = {"data": one.raw, "content_type": "application/json"}
    names = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in one.headers.items()}
    names["SERVER_NAME"] = "127.0.0.1"
    return int(caller.post(one.path, **given, **names).status_code)  # type: ignore[arg-type]  # a table of them


def tell_until_heard(one: WorkOrder) -> int:
    """Repeat until it succeeds, as providers and Celery beat do."""
    from django.db import connection

    answer = BROKEN
    for _ in range(PATIENCE):
        try:
            answer = tell(one)
        except Exception:  # noqa: BLE001 # a task that ends with an error; beat starts it again
            answer = BROKEN
        connection.close()
        if 0 <= answer < 500 and answer not in AGAIN:
            break
        time.sleep(PAUSE)
    return answer


def _say(out: int, what: Json) -> None:
    os.write(out, json.dumps(what).encode())


if __name__ == "__main__":
    main()
