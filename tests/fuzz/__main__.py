"""`make fuzz` runs schemathesis for SECONDS against its own service, with workers and real pods.

It prints its seed; the same SEED sends the same requests again. It exits with 1 when there are findings.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from tests.doubles.model_server import ModelServer
from tests.doubles.receiver import Receiver
from tests.fuzz.run import ROOT, FuzzCaller, FuzzPlan, new_caller, run

START_SECONDS = 120
STOP_SECONDS = 60
UNHANDLED = "unhandled exception"  # config/api.py logs this for every 500


def main() -> int:
    seconds = int(os.environ.get("SECONDS") or 900)
    seed = int(os.environ.get("SEED") or random.randrange(1_000_000))
    print(f"seed {seed}: make fuzz SEED={seed} SECONDS={seconds} sends the same again", flush=True)  # noqa: T201
    home = Path(tempfile.mkdtemp(prefix="agentpods-fuzz-"))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        model = stack.enter_context(ModelServer())
        receiver = stack.enter_context(Receiver().listening())
        base = stack.enter_context(service(home, model.base_urls()))
        plan = FuzzPlan(seed=seed, seconds=seconds // 2)
        caller = new_caller(base, "fuzz@example.com")
        found = [_as(name, token, base, caller, receiver.url, plan) for name, token in _tokens(caller)]
        found.append(_log_is_clean(home / "logs" / "web.log"))
    print("no findings" if all(found) else f"FINDINGS, see above; seed {seed}")  # noqa: T201
    return 0 if all(found) else 1


def _tokens(caller: FuzzCaller) -> list[tuple[str, str]]:
    return [("a session token", caller.session), ("an API key", caller.key)]


def _as(name: str, token: str, base: str, caller: FuzzCaller, receiver: str, plan: FuzzPlan) -> bool:
    print(f"\n== with {name}, {plan.seconds} s", flush=True)  # noqa: T201
    return run(base, caller, plan, token=token, receiver=receiver)


def _log_is_clean(log: Path) -> bool:
    """Whether the log has no unhandled exception. An exception behind a good answer is a finding too."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    faults = [number for number, line in enumerate(lines) if UNHANDLED in line]
    for number in faults[:10]:
        print("\n".join(lines[number : number + 40]))  # noqa: T201
    return not faults


@contextmanager
def service(home: Path, models: dict[str, str]) -> Iterator[str]:
    """Run `make run` with its own home directory and ports; yields its base URL."""
    port = _free_port()
    base = f"http://127.0.0.1:{port}"
    settings = {
        "AGENTPODS_HOME": str(home),
        "PORT": str(port),
        "ROUTER_PORT": str(_free_port()),
        "LLM_BASE_URLS": ",".join(f"{name}={url}" for name, url in models.items()),
        "WEBHOOK_ALLOWED_CIDRS": "127.0.0.0/8",
        "TRUSTED_PROXIES": "127.0.0.0/8",
        "MAX_FREE_AGENTS": "6",
        "MAX_TRIALS": "0",
        "ENGINE_CACHE": os.environ.get("ENGINE_CACHE") or str(ROOT / "var" / "engines"),
    }
    inherited = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    with (home / "run.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.run"], cwd=ROOT, env={**inherited, **settings}, stdout=log, stderr=log
        )
    try:
        _await(base, process, home / "run.log")
        yield base
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(base: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if requests.get(f"{base}/health/ready", timeout=5).status_code == 200:
                return
        except requests.RequestException:
            time.sleep(0.2)
    raise RuntimeError(f"the service did not start:\n{log.read_text(errors='replace')}")


if __name__ == "__main__":
    sys.exit(main())
