from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.agents.pod.bridge.process import BridgeProcess
from tests.doubles.pi import install_double

MakeBridge = Callable[..., BridgeProcess]


@pytest.fixture
def whole() -> bool:
    """Whether bridges are started as the runtime starts them, not copied. Tests about the process override this."""
    return False


@pytest.fixture
def make_bridge(tmp_path: Path, whole: bool) -> Iterator[MakeBridge]:
    """`make_bridge(cache=…, environment=…)`: make a bridge that is not started yet."""
    made: list[BridgeProcess] = []

    def make(*, cache: Path | None = None, environment: dict[str, str] | None = None) -> BridgeProcess:
        cache = cache or install_double(tmp_path / f"engines{len(made)}")
        made.append(BridgeProcess(tmp_path / "home", cache, environment=environment, whole=whole))
        return made[-1]

    yield make
    for bridge in made:
        bridge.clear_away()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BridgeProcess]:
    """A bridge whose engine is ready. Many tests share it, so each must leave it as it was, and talks in a conversation
    of its own. It stays a process: at its end a bridge kills all processes below it.
    """
    place = tmp_path_factory.mktemp("shared")
    bridge = BridgeProcess(place / "home", install_double(place / "engines"))
    bridge.start()
    bridge.wait_for("ready")
    yield bridge
    bridge.clear_away()


@pytest.fixture
def bridge(make_bridge: MakeBridge) -> BridgeProcess:
    """A bridge whose engine is ready."""
    bridge = make_bridge()
    bridge.start()
    bridge.wait_for("ready")
    return bridge
