"""Translators get the words of the catalog's toolsets."""

from __future__ import annotations

import yaml

from catalog.files import DATA
from pages import toolset_words


def test_translators_have_the_words_of_each_toolset_and_no_others() -> None:
    toolsets = yaml.safe_load((DATA / "toolsets.yaml").read_text(encoding="utf-8"))
    assert [one["name"] for one in toolsets] == toolset_words.NAMES
    assert [one["description"] for one in toolsets] == toolset_words.DESCRIPTIONS
