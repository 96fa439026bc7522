"""How the catalog reads engine packages of third parties."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import SimpleNamespace
from typing import Any

import pytest

from agents.engines.packages import GROUP, EnginePackage, installed
from agents.engines.pi import PI
from catalog import checks, engine_packages, files, licences
from catalog.models import Engine
from catalog.vocabulary import ENGINE_PACKAGES, EngineId

ROW = {
    "label": "Mine", "description": "Talks.", "min_tier": "tiny", "status": "beta", "skills": False, "mcp": False,
    "skill_registry": False, "skill_uninstall": False, "llm_key": True, "model": True, "sso": False,
    "dash_credentials": False, "channels": ["web"], "toolsets": ["a2a"],
}  # fmt: skip
MINE = SimpleNamespace(id="mine")


class Point:
    """A stand-in for an entry point of importlib, without a file."""

    group, value = GROUP, "mine:PACKAGE"

    def __init__(self, name: str, package: Any) -> None:
        self.name = name
        self._package = package

    def load(self) -> Any:
        if isinstance(self._package, BaseException):
            raise self._package
        return self._package


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The entry points that the catalog finds; add to this dict before anything reads it."""
    points: dict[str, Any] = {}
    monkeypatch.setattr(engine_packages, "ENGINE_PACKAGES", points)
    monkeypatch.setattr(engine_packages, "ENGINES_TWICE", {"twice"})
    monkeypatch.setattr("catalog.models.offers.ENGINE_IDS", [*EngineId.values, "mine"])
    engine_packages.found.cache_clear()
    yield points
    engine_packages.found.cache_clear()


def test_nothing_is_installed_here() -> None:
    assert ENGINE_PACKAGES == {}
    assert installed(ours={}) == {}


def test_a_package_brings_its_row_and_its_licence(packages: dict[str, Any]) -> None:
    packages["mine"] = Point("mine", SimpleNamespace(engine=MINE, row=ROW, licence="ask its author"))
    rows = {row.pk: row for row in files.read().rows[Engine]}
    assert list(rows)[-1] == "mine"
    assert rows["mine"].position == len(EngineId)
    assert licences.on_confirmation()["mine"] == "ask its author"


def test_a_row_that_is_wrong_is_told_as_one_of_ours_would_be(packages: dict[str, Any]) -> None:
    packages["mine"] = Point(
        "mine", SimpleNamespace(engine=MINE, row={**ROW, "min_tier": "huge", "colour": "red"}, licence="")
    )
    with pytest.raises(files.CatalogInvalid, match="engine package mine: colour: is not a column"):
        files.read()


@pytest.mark.parametrize(
    ("name", "package", "why"),
    [
        ("mine", ImportError("no module"), "ImportError: no module"),
        ("mine", 1, "AttributeError"),
        ("mine", SystemExit("not on this machine"), "SystemExit: not on this machine"),
        ("mine", EnginePackage(engine=PI, row=ROW), "its engine calls itself pi"),
        ("pi", 1, "this is the id of an engine of ours"),
        ("twice", 1, "two packages have an engine of this id"),
        ("../Mine", 1, "an id is 1 to 20 small letters"),
        ("m" * 21, 1, "an id is 1 to 20 small letters"),
    ],
)
def test_one_that_cannot_be_used_is_an_error_that_names_it(
    packages: dict[str, Any], name: str, package: Any, why: str
) -> None:
    packages[name] = Point(name, package)
    (error,) = checks.engine_packages_are_whole()
    assert error.msg.startswith(f"the engine package {name} cannot be used: {why}")
    assert error.is_serious()


def test_the_pods_take_what_is_whole_and_leave_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [
        Point("mine", EnginePackage(engine=MINE, row=ROW)),
        Point("other", EnginePackage(engine=MINE, row=ROW)),
        Point("twice", EnginePackage(engine=SimpleNamespace(id="twice"), row=ROW)),
        Point("twice", EnginePackage(engine=SimpleNamespace(id="twice"), row=ROW)),
        Point("ends", SystemExit("not on this machine")),
        Point("pi", EnginePackage(engine=PI, row=ROW)),
        Point("bare", 1),
        Point("lost", ImportError("no module")),
    ]

    def points(*, group: str) -> list[Any]:
        return given if group == GROUP else []

    monkeypatch.setattr("agents.engines.packages.entry_points", points)
    assert list(installed(ours={PI.id: PI})) == ["mine"]


def test_a_point_is_what_importlib_gives() -> None:
    """The real class has all attributes that are used of the stand-in."""
    real = EntryPoint(name="mine", value="mine:PACKAGE", group=GROUP)
    assert all(hasattr(real, name) for name in ("name", "value", "group", "load"))
