"""`A2A_TCK=<checkout> python -m tests.a2a_kit` runs the A2A conformance kit against our gateway.

The kit (a2aproject/a2a-tck, branch 1.0-dev) is not part of this repository. It runs twice: against an engine that plays
the kit's scenarios (tests/a2a_kit_script.py), and against a real pi engine with a model of ours, which answers in text.
The kit sends no credential, so a small proxy in front adds the agent's token. The kit tests only version 1.0, so at the
end the official client of version 0.3 talks to the scripted engine (tests/a2a_old_client.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from tests.a2a_kit_script import GENERATED, Script
from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer
from tests.ports import free_port

TOKEN = "a2a-token-for-the-kit"
OLD_CLIENT = "a2a-sdk==0.3.26"
SEND_003 = "test_must_requirement[CORE-SEND-003-jsonrpc]"
_PI = "pi answers in text and with a task; the scripted engine shows that the gateway can else"
# The tests that fail, and why that is right. Any other failure is a fault of ours.
KITS_FAULT = {
    SEND_003: "the kit's fault: the requirement names no expected_error, so that only an agent that takes the message "
    "passes. With the one line that the kit lacks ours passes, see below",
}
OF_A_REAL_ENGINE = {
    **KITS_FAULT,
    "test_task_has_file_artifact[jsonrpc]": _PI,
    "test_task_has_file_url_artifact[jsonrpc]": _PI,
    "test_task_has_data_artifact[jsonrpc]": _PI,
    "test_returns_message_with_text_part[jsonrpc]": _PI,
}
# The line that is missing in the kit, as a pytest plugin: it checks the answer by the kit's own rule for errors.
MENDED = """
from tck.requirements.base import CONTENT_TYPE_NOT_SUPPORTED_ERROR
from tck.requirements.registry import get_requirement_by_id

get_requirement_by_id("CORE-SEND-003").expected_error = CONTENT_TYPE_NOT_SUPPORTED_ERROR
"""


@dataclasses.dataclass(frozen=True)
class Subject:
    name: str
    serve: Callable[[str], AbstractContextManager[None]]
    expected: dict[str, str]


def main() -> int:
    checkout = os.environ.get("A2A_TCK", "")
    if not (Path(checkout) / "run_tck.py").is_file():
        sys.stderr.write("A2A_TCK: name a checkout of github.com/a2aproject/a2a-tck, branch 1.0-dev\n")
        return 2
    kit = Path(checkout).resolve()
    subjects = (
        Subject("a scripted engine", scripted, KITS_FAULT),
        Subject("a real pi", real_pi, OF_A_REAL_ENGINE),
    )
    return max(old_client(kit), *(run(kit, subject) for subject in subjects))


def old_client(kit: Path) -> int:
    """Run the official client of 0.3 in its own environment. Returns 0 when it understood every answer."""
    python = _environment(kit / ".venv-0.3", OLD_CLIENT)
    address = f"http://127.0.0.1:{free_port()}"
    with scripted(address):
        program = Path(__file__).with_name("a2a_old_client.py")
        ended = subprocess.run([python, program, address, TOKEN], check=False).returncode
    sys.stdout.write(f"\n{OLD_CLIENT}: {'FAILED' if ended else 'understood every answer'}\n")
    return ended


def run(kit: Path, subject: Subject) -> int:
    """Run the kit against one subject. Returns 0 when only expected tests fail."""
    address = f"http://127.0.0.1:{free_port()}"
    reports = Path(tempfile.mkdtemp())
    (reports / "mended.py").write_text(MENDED, encoding="utf-8")
    with subject.serve(address):
        _ask(kit, address, reports / "junit.xml", f"--compatibility-report={reports / 'kit'}")
        _ask(kit, address, reports / "again.xml", "-p", "mended", "-k", "CORE-SEND-003", paths=f"{kit}:{reports}")
    verdict = _judge(subject, reports / "junit.xml")
    _tell_requirements(json.loads((reports / "kit.json").read_text(encoding="utf-8")))
    passes = not _failed(_cases(reports / "again.xml"))
    sys.stdout.write(f"  CORE-SEND-003 with the line that the kit lacks: {'passed' if passes else 'FAILED'}\n")
    return verdict or int(not passes)


def _ask(kit: Path, address: str, report: Path, *more: str, paths: str = "") -> None:
    told = [f"--sut-host={address}", "--transport=jsonrpc", f"--junitxml={report}", "-q", "--tb=no", *more]
    environment = {**os.environ, "PYTHONPATH": paths}
    subprocess.run(
        [_environment(kit / ".venv", "-e", kit), "-m", "pytest", "tests/compatibility/", *told],
        cwd=kit,
        check=False,
        env=environment,
    )


def _environment(place: Path, *packages: str | Path) -> Path:
    """The Python of an environment with these packages. The environment is created if it is missing."""
    python = place / "bin" / "python"
    if not python.exists():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "-q", "--python", sys.executable, place], check=True)
        subprocess.run([*uv, "pip", "install", "-q", "--python", python, *packages], check=True)
    return python


def _judge(subject: Subject, report: Path) -> int:
    cases = _cases(report)
    failed, expected = _failed(cases), subject.expected
    skipped = sum(_has(case, "skipped") for case in cases)
    ours = sorted(failed - set(expected))
    passed = len(cases) - len(failed) - skipped
    sys.stdout.write(f"\n{subject.name}: {passed} passed, {len(failed)} failed, {skipped} skipped\n")
    for case in sorted(failed & set(expected)):
        sys.stdout.write(f"  as expected: {case}: {expected[case]}\n")
    for case in ours:
        sys.stdout.write(f"  OURS: {case}\n")
    for case in sorted(set(expected) - failed):
        sys.stdout.write(f"  passes by now, and need not be expected any more: {case}\n")
    return 1 if ours or passed <= 0 else 0


def _tell_requirements(report: dict[str, Any]) -> None:
    """Print the kit's own report by requirement. It also says FAIL for a requirement whose tests could not start."""
    for level in ("MUST", "SHOULD", "MAY"):
        of_it = {name: one for name, one in report["per_requirement"].items() if one["level"] == level}
        counts = Counter(one["status"] for one in of_it.values())
        failed = ", ".join(sorted(name for name, one in of_it.items() if one["status"] == "FAIL"))
        sys.stdout.write(f"  {level}: {dict(sorted(counts.items()))}{f' - failed: {failed}' if failed else ''}\n")


def _cases(report: Path) -> list[ET.Element]:
    return list(ET.parse(report).getroot().iter("testcase"))


def _failed(cases: list[ET.Element]) -> set[str]:
    return {str(case.get("name")) for case in cases if _has(case, "failure") or _has(case, "error")}


def _has(case: ET.Element, outcome: str) -> bool:
    return case.find(outcome) is not None


@contextmanager
def scripted(address: str) -> Iterator[None]:
    from tests.agents.pod.gateway.process import GatewayProcess

    script = Script()
    with BridgeDouble() as bridge:
        bridge.turn = script.turn
        gateway = GatewayProcess(
            {
                "bridge_url": bridge.url,
                "run_dir": tempfile.mkdtemp(),
                "a2a_enabled": True,
                "a2a_token": TOKEN,
                "public_url": address,
            }
        )
        try:
            gateway.wait_until_up()
            with in_front(address, gateway.public, script.hear):
                yield
        finally:
            gateway.stop()


@contextmanager
def real_pi(address: str) -> Iterator[None]:
    """Serve a pod of the local runtime with a real pi engine, as on a machine with one server."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.conf import settings

    from agents.engines import ENGINES
    from agents.runtimes.local import LocalRuntime
    from tests.agents.engines.conftest import REAL_KEY, EnginePod

    home = Path(tempfile.mkdtemp()).resolve()
    runtime = LocalRuntime(home=home, engine_cache=settings.ENGINE_CACHE)
    with ModelServer(key=REAL_KEY) as model:
        model.reply = GENERATED
        pod = EnginePod(ENGINES["pi"], runtime, model, home)
        secrets = dataclasses.replace(pod.spec.secrets, a2a_token=TOKEN)
        pod.spec = dataclasses.replace(pod.spec, public_url=address, secrets=secrets)
        try:
            pod.start(a2a_enabled=True)
            endpoint = runtime.endpoint(pod.namespace)
            assert endpoint
            with in_front(address, endpoint.public_url):
                yield
        finally:
            runtime.delete(pod.namespace, agent_id="agt_real", data=True)


@contextmanager
def in_front(address: str, behind: str, hear: Callable[[bytes], Any] = len) -> Iterator[None]:
    """Serve the agent's public address and add its token to each call; `hear` gets each body before the agent does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_front(int(address.rpartition(":")[2]), behind, hear), loop).result(10)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


async def _front(port: int, behind: str, hear: Callable[[bytes], Any]) -> web.AppRunner:
    async def pass_on(request: web.Request) -> web.StreamResponse:
        unsent = {"host", "content-length", "transfer-encoding", "authorization"}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in unsent}
        headers["Authorization"] = f"Bearer {TOKEN}"
        body = await request.read()
        hear(body)
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(request.method, behind + request.path_qs, headers=headers, data=body) as answer,
        ):
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in {"content-length", "transfer-encoding"}}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            with contextlib.suppress(ConnectionResetError):  # the kit closes streams before they end
                async for piece in answer.content.iter_any():
                    await response.write(piece)
            return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", pass_on)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner


if __name__ == "__main__":
    sys.exit(main())
