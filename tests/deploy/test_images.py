"""The images of `make images`, run as a cluster runs them: the bridge in an empty image, the engines, the gateway."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from agents.clusters.api import names
from agents.engines import ENGINES
from agents.engines.base import Engine, NpmPackage, PypiPackage
from agents.engines.hermes import HERMES
from agents.pod.bridge import install
from agents.pod.start import BridgeStart
from agents.runtimes.kubernetes import workload
from tests.agents.engines.conftest import smallest_tier
from tests.agents.engines.expectations import EXPECTED
from tests.agents.pod.bridge.process import TOKEN, eventually, pod_config
from tests.agents.pod.gateway.process import document
from tests.deploy.oci import Image, OciContainer
from tests.doubles.model_protocols import ToolCall
from tests.doubles.model_server import ModelServer
from tests.ports import free_port

pytestmark = [pytest.mark.images, pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root here")]

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / os.environ.get("OUTPUT", "var/images")
# Variables that other people's images may set for their own Python and C library.
FOREIGN = {"LD_LIBRARY_PATH": "/lib", "PYTHONHOME": "/opt/other", "PYTHONPATH": "/opt/other", "PATH": "/usr/bin:/bin"}
ENGINE_UID, GATEWAY_UID = 10001, 10002
PYTHON = "/agentpods/bin/python"
MARKS = ["--namespace=pod-test-1", "--home=/run/agentpods"]
USERS = {"agentpods": "10000:10000", **dict.fromkeys(ENGINES, "10001:10001")}
UNCHECKED = b"\x01\x00\x00\x00"  # the flags of compiled code that Python does not compare with its source
Unpacked = Callable[[str], Image]


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory that is deleted at the end: it has many thousand files, which pytest would keep."""
    place = tmp_path_factory.mktemp("images")
    place.parent.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="session")
def unpacked(scratch: Path) -> Unpacked:
    """Unpacks each image once, on first use."""

    @functools.cache
    def unpack(name: str) -> Image:
        (scratch / name).mkdir()
        return Image.unpack(OUTPUT / f"{name}.tar", scratch / name)

    return unpack


@pytest.fixture(scope="session")
def project(unpacked: Unpacked) -> Image:
    return unpacked("agentpods")


@pytest.fixture(params=USERS)
def image(request: pytest.FixtureRequest, unpacked: Unpacked) -> Image:
    return unpacked(request.param)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as model:
        yield model


@pytest.fixture(scope="session")
def volume(project: Image, scratch: Path) -> Path:
    """The gateway's files in a volume that belongs to root and the pod's group."""
    volume = scratch / "volume"
    volume.mkdir()
    os.chown(volume, 0, 10000)
    volume.chmod(0o2775)
    container = OciContainer(
        root=project.root,
        bundle=scratch / "init",
        uid=GATEWAY_UID,
        mounts={"/agentpods": volume},
        environment=_environment_of(project),
        cwd=project.config["WorkingDir"],
    )
    assert container.run("sh", "-c", workload.BRING_BRIDGE, "true") == (0, "")
    assert stat.S_IMODE(volume.stat().st_mode) == 0o2775
    return volume


def _environment_of(image: Image) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in image.config["Env"])


@pytest.fixture
def place(scratch: Path) -> Iterator[Path]:
    """The directories of one pod, as a cluster mounts them."""
    place = scratch / "pod"
    for name in ("data", "run", "tmp", "start"):
        (place / name).mkdir(parents=True)
        os.chown(place / name, 0, 10000)
        (place / name).chmod(0o2777)
    yield place
    shutil.rmtree(place)


def _in_the_engines_image(root: Path, volume: Path, place: Path) -> OciContainer:
    return OciContainer(
        root=root,
        bundle=place / "engine",
        uid=ENGINE_UID,
        mounts={
            "/agentpods": volume,
            "/data": place / "data",
            "/run/agentpods": place / "run",
            "/tmp": place / "tmp",
            "/etc/agentpods": place / "start",
        },
        read_only=frozenset({"/agentpods", "/etc/agentpods"}),
        environment={**FOREIGN, "AGENTPODS_NAMESPACE": "pod-test-1", "AGENTPODS_HOME": "/run/agentpods"},
    )


@pytest.fixture
def nothing(scratch: Path) -> Iterator[Path]:
    """An image without a C library, a shell or a Python. Files with the names of our libraries are not libraries."""
    root = scratch / "nothing"
    for name in ("agentpods", "data", "dev", "etc/agentpods", "lib", "proc", "run/agentpods", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("libc.so.6", "libm.so.6", "libz.so.1"):
        (root / "lib" / name).write_text("of another world")
    yield root
    shutil.rmtree(root)


def test_the_bridges_python_and_restic_run_where_there_is_nothing(nothing: Path, volume: Path, place: Path) -> None:
    it = "import aiohttp, ctypes, ssl, psutil as p, sys as s; print(s.executable, p.Process().exe(), s.flags.isolated)"
    restic = f"import subprocess as o; o.run(['{names.RESTIC}', 'version'], check=True, stdout=o.DEVNULL)"
    code, said = _in_the_engines_image(nothing, volume, place).run(PYTHON, "-c", f"{it}; {restic}")
    assert (code, said) == (0, f"{PYTHON} {PYTHON} 1\n")


def test_the_bridges_python_can_start_itself_again(nothing: Path, volume: Path, place: Path) -> None:
    again = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import asyncio, json; print(1)'], check=True)"
    )
    assert _in_the_engines_image(nothing, volume, place).run(PYTHON, "-c", again) == (0, "1\n")


def test_every_module_of_the_bridge_and_of_the_engines_is_there(nothing: Path, volume: Path, place: Path) -> None:
    asked = """
import importlib, pkgutil, agents.engines, agents.pod.bridge
for package in (agents.engines, agents.pod.bridge):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print(all(engine.package.lock.is_file() for engine in agents.engines.ENGINES.values()))
"""
    assert _in_the_engines_image(nothing, volume, place).run(PYTHON, "-c", asked) == (0, "True\n")


def test_the_bridge_has_our_code_for_itself_alone(volume: Path) -> None:
    packages = next(volume.glob("lib/python3*/packages"))
    assert not (packages / "agents" / "pod" / "gateway").exists()
    assert not (packages / "agents" / "models.py").exists()
    assert not (packages / "django").exists()


@contextlib.contextmanager
def _up(engine: Engine, unpacked: Unpacked, volume: Path, place: Path, **more: Any) -> Iterator[BridgeStart]:
    """Run the bridge as PID 1 of the engine's image, and wait until the engine is ready."""
    start = dataclasses.replace(_bridge_start(engine), **more)
    (place / "start" / "start.json").write_bytes(start.dump())
    container = _in_the_engines_image(unpacked(engine.id).root, volume, place)
    process = container.start(PYTHON, "-m", "agents.pod.bridge", "--start=/etc/agentpods/start.json", *MARKS)
    try:
        eventually(lambda: _status(start.port, "/readyz") == 200 or process.poll() is not None, within=90)
        assert process.poll() is None, container.said()
        yield start
    finally:
        _end(process)


def _bridge_start(engine: Engine) -> BridgeStart:
    return BridgeStart(
        namespace="pod-test-1",
        agent_id="agt_test",
        engine=engine.id,
        run_dir="/run/agentpods",
        data_dir="/data/agent",
        engine_cache="/opt/engines",
        node="/opt/node/bin/node",
        memory_bytes=smallest_tier(engine.id).memory_bytes,
        host="127.0.0.1",
        port=free_port(),
        token=TOKEN,
        llm_url="http://127.0.0.1:9",
        llm_token="none",
        engine_port=free_port(),
        side_port=free_port(),
        engine_password="engine-password-for-tests",
        config=pod_config(),
    )


def test_the_bridge_brings_up_the_real_engine_as_pid_1_of_its_image(
    engine: Engine, unpacked: Unpacked, volume: Path, place: Path
) -> None:
    with _up(engine, unpacked, volume, place) as start:
        url, headers = f"http://127.0.0.1:{start.port}/state", {"Authorization": f"Bearer {TOKEN}"}
        assert requests.get(url, headers=headers, timeout=5).json()["revision"] == 1
        assert (place / "data" / "agent").stat().st_uid == ENGINE_UID
        assert stat.S_IMODE((place / "data" / "agent").stat().st_mode) & 0o777 == 0o700
    assert json.loads((place / "run" / "state.json").read_text())["phase"] == "stopped"


def test_the_engines_tools_find_in_its_image_what_they_need(
    engine: Engine, unpacked: Unpacked, volume: Path, place: Path, model: ModelServer
) -> None:
    known = EXPECTED[engine.id]
    if not known.exec or not known.search:
        return  # no tool of n8n works on its own machine
    toolset, shell, command = known.exec
    search, pattern = known.search
    config = pod_config(provider=known.start[0], model=known.models[0], toolsets=[toolset, "file"])
    with _up(engine, unpacked, volume, place, llm_url=f"http://127.0.0.1:{model.port}", config=config) as start:
        model.tool_calls = [ToolCall(shell, {command: "echo under the oak-$((40 + 2)) > notes.txt; cat notes.txt"})]
        assert _reply(start, "write it down") == "pong"
        assert "oak-42" in str(model.turns()[-1].body)
        model.tool_calls = [ToolCall(search, {pattern: "under the"} | known.search_for_text)]
        assert _reply(start, "where is it?", session="another") == "pong"
        assert "oak-42" in str(model.turns()[-1].body)


def _reply(start: BridgeStart, message: str, session: str = "talk") -> str:
    url, headers = f"http://127.0.0.1:{start.port}/turn", {"Authorization": f"Bearer {TOKEN}"}
    said = requests.post(url, json={"session_id": session, "message": message}, headers=headers, timeout=60)
    last: dict[str, Any] = json.loads(said.text.splitlines()[-1])
    assert last["type"] == "done", last
    return str(last["reply"])


def test_hermes_shows_its_own_pages_in_its_image(unpacked: Unpacked, volume: Path, place: Path) -> None:
    with _up(HERMES, unpacked, volume, place, config=pod_config(dashboard=True)) as start:
        eventually(lambda: _status(start.side_port, "/") == 200, within=60, what="the dashboard")


def test_the_gateway_runs_from_the_projects_image(project: Image, place: Path) -> None:
    start = dataclasses.replace(document({}), run_dir="/run/agentpods", bridge_url="http://127.0.0.1:9")
    (place / "start" / "start.json").write_bytes(start.dump())
    container = OciContainer(
        root=project.root,
        bundle=place / "gateway",
        uid=GATEWAY_UID,
        mounts={"/run/agentpods": place / "run", "/tmp": place / "tmp", "/etc/agentpods": place / "start"},
        read_only=frozenset({"/etc/agentpods"}),
        environment={**_environment_of(project), "AGENTPODS_HOME": "/run/agentpods"},
        cwd=project.config["WorkingDir"],
    )
    process = container.start("python", "-m", "agents.pod.gateway", "--start=/etc/agentpods/start.json", *MARKS)
    try:
        eventually(lambda: _status(start.public_port, "/healthz") == 200, what=f"the gateway: {container.said()}")
    finally:
        _end(process)
    assert (place / "run" / "gateway.json").stat().st_uid == GATEWAY_UID


def _status(port: int, path: str) -> int | None:
    try:
        return requests.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code
    except requests.ConnectionError:
        return None


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()  # the runtime passes the signal on to the container
    try:
        process.wait(20)
    finally:
        process.kill()


@pytest.fixture
def control_plane(project: Image, place: Path) -> OciContainer:
    return OciContainer(
        root=project.root,
        bundle=place / "control-plane",
        uid=10000,
        mounts={"/tmp": place / "tmp"},
        environment=_environment_of(project),
        cwd=project.config["WorkingDir"],
    )


def test_the_control_plane_finds_what_it_imports_in_the_projects_image(control_plane: OciContainer) -> None:
    asked = "import django; django.setup(); import config.run.web, config.urls, config.celery, kubernetes, granian"
    settings = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; "
    assert control_plane.run("python", "-c", settings + asked) == (0, "")


def test_the_project_describes_its_api_from_its_image(control_plane: OciContainer, place: Path) -> None:
    described = control_plane.run("python", "manage.py", "spectacular", "--fail-on-warn", "--file=/tmp/openapi.yaml")
    assert described == (0, "")
    assert (place / "tmp" / "openapi.yaml").read_text() == (ROOT / "openapi.yaml").read_text()


def test_static_files_are_collected_where_production_looks_for_them(project: Image) -> None:
    assert any((project.root / "app" / "var" / "static" / "admin").rglob("*.css"))


def test_the_engine_says_the_version_that_the_lock_has(engine: Engine, unpacked: Unpacked, place: Path) -> None:
    image = unpacked(engine.id)
    target = install.directory(engine, image.root / "opt" / "engines")
    assert install.is_installed(engine, target)
    offline, mounts, own = {"HOME": "/tmp", "PI_OFFLINE": "1"}, {"/tmp": place / "tmp"}, place / "version"
    container = OciContainer(root=image.root, bundle=own, uid=ENGINE_UID, mounts=mounts, environment=offline)
    code, said = container.run(*_program(engine, Path("/opt/engines") / target.name), "--version")
    assert (code, engine.package.version in said) == (0, True), said


def _program(engine: Engine, place: Path) -> list[str | Path]:
    package = engine.package
    if isinstance(package, PypiPackage):
        return [place / package.python, "-I", "-m", package.module]
    native = isinstance(package, NpmPackage) and package.native
    return [*(() if native else ("/opt/node/bin/node",)), place / package.entry]


def test_hermes_has_nothing_to_compile_when_it_starts(unpacked: Unpacked) -> None:
    """Whatever times the unpacked files have."""
    sources = list((unpacked(HERMES.id).root / "opt" / "engines").rglob("*.py"))
    compiled = [path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc" for path in sources]
    assert sources
    assert [path for path in compiled if not path.exists() or path.read_bytes()[4:8] != UNCHECKED] == []


@pytest.mark.parametrize("name", USERS)
def test_an_image_has_a_user_of_its_own_with_a_name(name: str, unpacked: Unpacked) -> None:
    image = unpacked(name)
    assert image.config["User"] == USERS[name]
    assert re.search(rf"^[a-z]+:x:{USERS[name]}:", (image.root / "etc" / "passwd").read_text(), re.MULTILINE)


# Names of files that show the machine that built the image, or that only a build needs.
LEFT_BY_A_BUILD = re.compile(
    r"\.npmrc|npmrc|pip\.conf|\.netrc|\.pypirc|\.git|\.env|.*\.deb|_cacache|\.npm|pip|npm-cli\.js|.*\.key"
)
PUBLISHED = "/node_modules/bottleneck/.env"  # openclaw needs this package of npm, which is published with the file


def test_nothing_of_the_build_or_its_machine_is_left_in_an_image(image: Image) -> None:
    files = [path for path in image.root.rglob("*") if LEFT_BY_A_BUILD.fullmatch(path.name)]
    assert [path for path in files if _says_something(path) and not str(path).endswith(PUBLISHED)] == []
    assert [path for path in (image.root / "etc" / "apt").rglob("*.list") if path.read_text()] == []
    named = [image.root / "etc" / name for name in ("hostname", "resolv.conf")]
    assert [path for path in named if path.exists() and path.read_text()] == []
    assert not any((image.root / "root").rglob("*cache*"))
    assert not (image.root / "build").exists()


def _says_something(path: Path) -> bool:
    """Whether the file has content: a mount during a build step may leave an empty file behind."""
    return path.is_dir() or path.stat().st_size > 0


def test_no_program_of_an_image_makes_its_caller_root(image: Image) -> None:
    places = [image.root / place for place in ("opt", "app") if (image.root / place).exists()]
    raised = [path for place in places for path in place.rglob("*") if _mode(path) & (stat.S_ISUID | stat.S_ISGID)]
    assert raised == []


def _mode(path: Path) -> int:
    return path.lstat().st_mode


def test_every_file_of_ours_can_be_read_by_every_user(image: Image) -> None:
    """The pod sets the user, not the image."""
    paths = (path for place in ("app", "opt") for path in (image.root / place).rglob("*") if not path.is_symlink())
    assert [path for path in paths if not path.stat().st_mode & stat.S_IROTH] == []
