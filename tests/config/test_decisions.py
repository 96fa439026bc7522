"""Decisions are short and listed in the index, and the project has only few words of its own."""

from __future__ import annotations

from tests.config.conftest import ROOT

DECISIONS = ROOT / "docs" / "decisions"
MOST_LINES = 5
MOST_CHARACTERS = 100
MOST_WORDS = 20


def test_a_decision_has_a_question_and_at_most_five_lines() -> None:
    for path in DECISIONS.glob("*.md"):
        if path.name == "README.md":
            continue
        for entry in path.read_text(encoding="utf-8").split("\n## ")[1:]:
            question, *lines = [line for line in entry.splitlines() if line]
            assert question.endswith("?"), f"{path.name}: {question}"
            assert 0 < len(lines) <= MOST_LINES, f"{path.name}: {question}"
            assert max(len(line) for line in lines) <= MOST_CHARACTERS, f"{path.name}: {question}"


def test_the_index_has_every_area() -> None:
    index = (DECISIONS / "README.md").read_text(encoding="utf-8")
    areas = {path.name for path in DECISIONS.glob("*.md")} - {"README.md"}
    assert {area for area in areas if f"({area})" not in index} == set()


def test_the_glossary_stays_small() -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert 0 < glossary.count("\n- **") <= MOST_WORDS
