"""What `make images` made, run as a cluster would: the bridge in an image that has nothing, the engine, the gateway."""

from __future__ import annotations

import dataclasses
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

from agents.engines.pi import PI
from agents.pod.bridge import install
from agents.pod.start import BridgeStart
from tests.agents.pod.bridge.process import TOKEN, eventually, free_port, pod_config
from tests.agents.pod.gateway.process import document
from tests.deploy.oci import Container, Image

pytestmark = [pytest.mark.images, pytest.mark.skipif(os.geteuid() != 0, reason="containers are started by root here")]

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / os.environ.get("OUTPUT", "var/images")
# What an image of somebody else's might have set, for its own Python and its own C library.
FOREIGN = {"LD_LIBRARY_PATH": "/lib", "PYTHONHOME": "/opt/other", "PYTHONPATH": "/opt/other", "PATH": "/usr/bin:/bin"}
ENGINE_UID, GATEWAY_UID = 10001, 10002
PYTHON = "/agentpods/bin/python"
MARKS = ["--namespace=pod-test-1", "--home=/run/agentpods"]
Run = Callable[..., Container]


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Many thousand files, which pytest would keep."""
    place = tmp_path_factory.mktemp("images")
    place.parent.chmod(0o755)
    yield place
    shutil.rmtree(place)


def _unpacked(name: str, scratch: Path) -> Image:
    (scratch / name).mkdir()
    return Image.unpack(OUTPUT / f"{name}.tar", scratch / name)


@pytest.fixture(scope="session")
def project(scratch: Path) -> Image:
    return _unpacked("agentpods", scratch)


@pytest.fixture(scope="session")
def pi(scratch: Path) -> Image:
    return _unpacked("pi", scratch)


@pytest.fixture(scope="session")
def volume(project: Image, scratch: Path) -> Path:
    """What the init container leaves in a volume that belongs to root and the pod's group."""
    volume = scratch / "volume"
    volume.mkdir()
    os.chown(volume, 0, 10000)
    volume.chmod(0o2775)
    container = Container(
        root=project.root,
        bundle=scratch / "init",
        uid=ENGINE_UID,
        mounts={"/agentpods": volume},
        environment=_environment_of(project),
        cwd=project.config["WorkingDir"],
    )
    assert container.run("python", "-m", "agents.pod.copy_bridge", "/agentpods") == (0, "")
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


def _in_the_engines_image(root: Path, volume: Path, place: Path) -> Container:
    return Container(
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
    """An image without a C library, a shell or a Python; what has the names of our libraries there is none."""
    root = scratch / "nothing"
    for name in ("agentpods", "data", "dev", "etc/agentpods", "lib", "proc", "run/agentpods", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("libc.so.6", "libm.so.6", "libz.so.1"):
        (root / "lib" / name).write_text("of another world")
    yield root
    shutil.rmtree(root)


def test_the_bridges_python_runs_where_there_is_nothing(nothing: Path, volume: Path, place: Path) -> None:
    asked = (
        "import sys, ssl, ctypes, aiohttp, psutil; print(sys.executable, psutil.Process().exe(), sys.flags.isolated)"
    )
    code, said = _in_the_engines_image(nothing, volume, place).run(PYTHON, "-c", asked)
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
print(agents.engines.PI.package.lock.is_file())
"""
    assert _in_the_engines_image(nothing, volume, place).run(PYTHON, "-c", asked) == (0, "True\n")


def test_the_bridge_has_our_code_for_itself_alone(volume: Path) -> None:
    packages = next(volume.glob("lib/python3*/packages"))
    assert not (packages / "agents" / "pod" / "gateway").exists()
    assert not (packages / "agents" / "models.py").exists()
    assert not (packages / "django").exists()


def test_the_bridge_brings_up_the_real_engine_as_pid_1_of_its_image(pi: Image, volume: Path, place: Path) -> None:
    port = free_port()
    (place / "start" / "start.json").write_bytes(_bridge_start(port).dump())
    container = _in_the_engines_image(pi.root, volume, place)
    process = container.start(PYTHON, "-m", "agents.pod.bridge", "--start=/etc/agentpods/start.json", *MARKS)
    try:
        eventually(lambda: _status(port, "/readyz") == 200, within=60, what=f"readiness: {container.said()}")
        state = requests.get(f"http://127.0.0.1:{port}/state", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=5)
        assert state.json()["revision"] == 1
        assert (place / "data" / "agent").stat().st_uid == ENGINE_UID
        assert stat.S_IMODE((place / "data" / "agent").stat().st_mode) & 0o777 == 0o700
    finally:
        _end(process)
    assert json.loads((place / "run" / "state.json").read_text())["phase"] == "stopped"


def _bridge_start(port: int) -> BridgeStart:
    return BridgeStart(
        namespace="pod-test-1",
        agent_id="agt_test",
        engine=PI.id,
        run_dir="/run/agentpods",
        data_dir="/data/agent",
        engine_cache="/opt/engines",
        node="/opt/node/bin/node",
        memory_bytes=512 * 2**20,
        host="127.0.0.1",
        port=port,
        token=TOKEN,
        llm_url="http://127.0.0.1:9",
        llm_token="none",
        engine_port=free_port(),
        engine_password="none",
        config=pod_config(),
    )


def test_the_gateway_runs_from_the_projects_image(project: Image, place: Path) -> None:
    start = dataclasses.replace(document({}), run_dir="/run/agentpods", bridge_url="http://127.0.0.1:9")
    (place / "start" / "start.json").write_bytes(start.dump())
    container = Container(
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
    process.terminate()  # the runtime hands it on to the container
    try:
        process.wait(20)
    finally:
        process.kill()


@pytest.fixture
def control_plane(project: Image, place: Path) -> Container:
    return Container(
        root=project.root,
        bundle=place / "control-plane",
        uid=10000,
        mounts={"/tmp": place / "tmp"},
        environment=_environment_of(project),
        cwd=project.config["WorkingDir"],
    )


def test_the_control_plane_finds_what_it_imports_in_the_projects_image(control_plane: Container) -> None:
    asked = "import django; django.setup(); import config.run.web, config.urls, config.celery, kubernetes, granian"
    settings = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; "
    assert control_plane.run("python", "-c", settings + asked) == (0, "")


def test_the_project_describes_its_api_from_its_image(control_plane: Container, place: Path) -> None:
    described = control_plane.run("python", "manage.py", "spectacular", "--fail-on-warn", "--file=/tmp/openapi.yaml")
    assert described == (0, "")
    assert (place / "tmp" / "openapi.yaml").read_text() == (ROOT / "openapi.yaml").read_text()


def test_static_files_are_collected_where_production_looks_for_them(project: Image) -> None:
    assert any((project.root / "app" / "var" / "static" / "admin").rglob("*.css"))


def test_the_engine_says_the_version_that_the_lock_has(pi: Image, place: Path, scratch: Path) -> None:
    target = install.directory(PI, pi.root / "opt" / "engines")
    assert install.is_installed(PI, target)
    container = Container(
        root=pi.root,
        bundle=place / "version",
        uid=ENGINE_UID,
        mounts={"/tmp": place / "tmp"},
        environment={"HOME": "/tmp", "PI_OFFLINE": "1"},
    )
    entry = Path("/opt/engines") / target.name / PI.package.entry
    code, said = container.run("/opt/node/bin/node", entry, "--version")
    assert (code, PI.package.version in said) == (0, True), said


@pytest.mark.parametrize(("name", "user"), [("agentpods", "10000:10000"), ("pi", "10001:10001")])
def test_an_image_has_a_user_of_its_own_with_a_name(name: str, user: str, request: pytest.FixtureRequest) -> None:
    image: Image = request.getfixturevalue({"agentpods": "project", "pi": "pi"}[name])
    assert image.config["User"] == user
    assert re.search(rf"^[a-z]+:x:{user}:", (image.root / "etc" / "passwd").read_text(), re.MULTILINE)


# Names of files that tell of the machine that built the image, or that only a build needs.
LEFT_BY_A_BUILD = re.compile(
    r"\.npmrc|npmrc|pip\.conf|\.netrc|\.pypirc|\.git|\.env|.*\.deb|_cacache|\.npm|pip|npm-cli\.js|.*\.key"
)
CERTIFICATES = ("etc/ssl", "usr/share/ca-certificates")


@pytest.mark.parametrize("name", ["project", "pi"])
def test_nothing_of_the_build_or_its_machine_is_left_in_an_image(name: str, request: pytest.FixtureRequest) -> None:
    image: Image = request.getfixturevalue(name)
    files = [path for path in image.root.rglob("*") if LEFT_BY_A_BUILD.fullmatch(path.name)]
    assert [path for path in files if _says_something(path)] == []
    sources = [path for path in (image.root / "etc" / "apt").rglob("*.list") if path.read_text()]
    assert sources == []
    named = [image.root / "etc" / name for name in ("hostname", "resolv.conf")]
    assert [path for path in named if path.exists() and path.read_text()] == []
    assert not any((image.root / "root").rglob("*cache*"))
    assert not (image.root / "build").exists()


def _says_something(path: Path) -> bool:
    """Where a file is mounted during a step, an empty one may stay behind."""
    return path.is_dir() or path.stat().st_size > 0


@pytest.mark.parametrize("name", ["project", "pi"])
def test_no_program_of_an_image_makes_its_caller_root(name: str, request: pytest.FixtureRequest) -> None:
    image: Image = request.getfixturevalue(name)
    places = [image.root / place for place in ("opt", "app") if (image.root / place).exists()]
    raised = [path for place in places for path in place.rglob("*") if _mode(path) & (stat.S_ISUID | stat.S_ISGID)]
    assert raised == []


def _mode(path: Path) -> int:
    return path.lstat().st_mode


def test_every_file_of_ours_can_be_read_by_every_user(project: Image, pi: Image) -> None:
    """A pod names the user, not the image."""
    ours: list[Any] = [project.root / "app", project.root / "opt", pi.root / "opt"]
    paths = (path for place in ours for path in place.rglob("*") if not path.is_symlink())
    assert [path for path in paths if not path.stat().st_mode & stat.S_IROTH] == []
