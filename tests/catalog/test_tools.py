"""Toolsets in the catalog."""

from __future__ import annotations

import pytest

from catalog import engines, snapshot, tools
from catalog.models import Toolset
from config.errors import BadRequest

pytestmark = pytest.mark.usefixtures("catalog")


def test_the_safe_set_is_what_is_on_by_default() -> None:
    on = [toolset.id for toolset in tools.offered() if toolset.default_enabled]
    assert on == ["web", "file", "vision", "memory", "session_search", "todo", "skills"]


def test_nothing_chosen_means_the_part_of_the_safe_set_that_the_engine_supports() -> None:
    assert tools.effective([], engines.known_engine("pi")) == ["file", "skills"]
    kept = ["file", "memory", "session_search", "todo", "skills"]
    assert tools.effective([], engines.known_engine("hermes")) == kept
    assert tools.effective(["terminal"], engines.known_engine("pi")) == ["terminal"]


def test_supported_toolsets_are_taken_in_the_order_given() -> None:
    pi = engines.known_engine("pi")
    assert tools.check_toolsets(["terminal", "file"], pi) == ["terminal", "file"]
    assert tools.check_toolsets([], pi) == []


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["spotify"], "^tools.enabled: 'spotify' is not a toolset; GET /tools lists the ids$"),
        (["file", "laser"], "^tools.enabled: 'laser' is not a toolset; GET /tools lists the ids$"),
        (
            ["web"],
            "^tools.enabled: Pi does not support 'web'; allowed: file, terminal, skills, a2a; GET /tools.engine=pi",
        ),
        (["file", "terminal", "file"], "^tools.enabled: 'file' is given twice$"),
    ],
)
def test_the_first_wrong_toolset_is_named(ids: list[str], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        tools.check_toolsets(ids, engines.known_engine("pi"))


def test_a_hidden_toolset_is_unknown() -> None:
    Toolset.objects.filter(id="terminal").update(hidden=True)
    snapshot.forget()
    with pytest.raises(BadRequest, match=r"^enabled: 'terminal' is not a toolset"):
        tools.check_toolsets(["terminal"], engines.known_engine("pi"), field="enabled")
