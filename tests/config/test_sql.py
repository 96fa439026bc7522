"""SQL statements of our own."""

from __future__ import annotations

import pytest

from config import sql

pytestmark = pytest.mark.django_db


def test_a_statement_tells_how_many_rows_it_changed() -> None:
    sql.execute("CREATE TEMPORARY TABLE owls (name text) ON COMMIT DROP")
    assert sql.execute("INSERT INTO owls VALUES (%s), (%s)", ["day", "night"]) == 2
    assert sql.execute("DELETE FROM owls WHERE name = %(name)s", {"name": "dawn"}) == 0


def test_a_question_gives_its_rows() -> None:
    assert sql.rows("SELECT number, %s FROM generate_series(1, 2) AS number", ["owl"]) == [(1, "owl"), (2, "owl")]
    assert sql.rows("SELECT 1 WHERE false") == []
