"""`A2A_TCK=<checkout> python -m tests.a2a_kit`: the conformance kit of A2A against our gateway.

The kit (a2aproject/a2a-tck, branch 1.0-dev) is not ours and stays outside. It runs twice: before a scripted engine, and
before a real pi with a model of ours. Both say what the kit wants to hear as text. The kit shows no credential, so a
small proxy in front adds the agent's token.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from tests.doubles.bridge import BridgeDouble
from tests.doubles.model_server import ModelServer
from tests.ports import free_port

TOKEN = "a2a-token-for-the-kit"
SAID = "Generated text content"
_TEXT_ONLY = (
    "our agents answer every message with a task and in text, as their card says; the kit's agent also can else"
)
# What does not pass, and why that is as it should be. Anything else that fails is ours.
EXPECTED = {
    "test_task_has_file_artifact[jsonrpc]": _TEXT_ONLY,
    "test_task_has_file_url_artifact[jsonrpc]": _TEXT_ONLY,
    "test_task_has_data_artifact[jsonrpc]": _TEXT_ONLY,
    "test_returns_message_with_text_part[jsonrpc]": _TEXT_ONLY,
    "test_must_requirement[CORE-SEND-003-jsonrpc]": (
        "the kit's fault: it wants ContentTypeNotSupportedError and takes every error for a failure, because the "
        "requirement names no expected_error; ours is -32005 (tests/agents/pod/gateway/a2a/test_endpoint.py)"
    ),
}


def main() -> int:
    checkout = os.environ.get("A2A_TCK", "")
    if not (Path(checkout) / "run_tck.py").is_file():
        sys.stderr.write("A2A_TCK: name a checkout of github.com/a2aproject/a2a-tck, branch 1.0-dev\n")
        return 2
    kit = Path(checkout).resolve()
    subjects: dict[str, Callable[[str], AbstractContextManager[None]]] = {
        "a scripted engine": scripted,
        "a real pi": real_pi,
    }
    return max(run(kit, name, subject) for name, subject in subjects.items())


def run(kit: Path, name: str, subject: Callable[[str], AbstractContextManager[None]]) -> int:
    """The kit's verdict on one subject: 0 where nothing failed but what is expected."""
    address = f"http://127.0.0.1:{free_port()}"
    with subject(address):
        report = Path(tempfile.mkdtemp()) / "junit.xml"
        told = [f"--sut-host={address}", "--transport=jsonrpc", f"--junitxml={report}", "-q", "--tb=no"]
        subprocess.run([_python(kit), "-m", "pytest", "tests/compatibility/", *told], cwd=kit, check=False)
    return _judge(name, report)


def _python(kit: Path) -> str:
    """The kit's own environment, as its README has it; made where it is missing."""
    python = kit / ".venv" / "bin" / "python"
    if not python.exists():
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "-q", "--python", sys.executable, kit / ".venv"], check=True)
        subprocess.run([*uv, "pip", "install", "-q", "--python", python, "-e", kit], check=True)
    return str(python)


def _judge(name: str, report: Path) -> int:
    cases = list(ET.parse(report).getroot().iter("testcase"))
    failed = {str(case.get("name")) for case in cases if _has(case, "failure") or _has(case, "error")}
    skipped = sum(_has(case, "skipped") for case in cases)
    ours = sorted(failed - set(EXPECTED))
    passed = len(cases) - len(failed) - skipped
    sys.stdout.write(f"\n{name}: {passed} passed, {len(failed)} failed, {skipped} skipped\n")
    for case in sorted(failed & set(EXPECTED)):
        sys.stdout.write(f"  as expected: {case}: {EXPECTED[case]}\n")
    for case in ours:
        sys.stdout.write(f"  OURS: {case}\n")
    for case in sorted(set(EXPECTED) - failed):
        sys.stdout.write(f"  passes by now, and need not be expected any more: {case}\n")
    return 1 if ours or passed <= 0 else 0


def _has(case: ET.Element, outcome: str) -> bool:
    return case.find(outcome) is not None


@contextmanager
def scripted(address: str) -> Iterator[None]:
    from tests.agents.pod.gateway.process import Gateway

    with BridgeDouble() as bridge:
        bridge.turn = lambda _: [{"type": "delta", "text": SAID}, {"type": "done", "reply": SAID}]
        gateway = Gateway(
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
            with in_front(address, gateway.public):
                yield
        finally:
            gateway.stop()


@contextmanager
def real_pi(address: str) -> Iterator[None]:
    """As an agent of this machine has it: a pod of the local runtime."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.conf import settings

    from agents.engines import ENGINES
    from agents.runtimes.local import LocalRuntime
    from tests.agents.engines.conftest import REAL_KEY, Pod

    home = Path(tempfile.mkdtemp()).resolve()
    runtime = LocalRuntime(home=home, engine_cache=settings.ENGINE_CACHE)
    with ModelServer(key=REAL_KEY) as model:
        model.reply = SAID
        pod = Pod(ENGINES["pi"], runtime, model, home)
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
def in_front(address: str, behind: str) -> Iterator[None]:
    """The agent's public address, with its token on every call."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_front(int(address.rpartition(":")[2]), behind), loop).result(10)
    try:
        yield
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


async def _front(port: int, behind: str) -> web.AppRunner:
    async def pass_on(request: web.Request) -> web.StreamResponse:
        unsent = {"host", "content-length", "transfer-encoding", "authorization"}
        headers = {name: value for name, value in request.headers.items() if name.lower() not in unsent}
        headers["Authorization"] = f"Bearer {TOKEN}"
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method, behind + request.path_qs, headers=headers, data=await request.read()
            ) as answer,
        ):
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in {"content-length", "transfer-encoding"}}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
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
