"""The squashed migrations create the same database as the original migrations, one by one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.stores import Stores

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
ONE_BY_ONE = """
import django; django.setup()
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
executor = MigrationExecutor(connection)
executor.loader = MigrationLoader(connection, replace_migrations=False)
squashed = {name for name, migration in executor.loader.disk_migrations.items() if migration.replaces}
executor.migrate([node for node in executor.loader.graph.leaf_nodes() if node not in squashed])
"""
# Everything that a database has except its rows, one line each.
HOLDS = """
select concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage,
        pg_get_expr(d.adbin, d.adrelid))
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on (d.adrelid, d.adnum) = (c.oid, a.attnum)
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
union select concat_ws(' ', 'table', relname, relkind, reloptions) from pg_class
    where relnamespace = 'public'::regnamespace
union select concat_ws(' ', 'index', indexdef) from pg_indexes where schemaname = 'public'
union select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    where connamespace = 'public'::regnamespace
union select concat_ws(' ', 'trigger', pg_get_triggerdef(oid)) from pg_trigger where not tgisinternal
union select concat_ws(' ', 'function', pg_get_functiondef(oid)) from pg_proc
    where pronamespace = 'public'::regnamespace and prokind = 'f'
union select concat_ws(' ', 'sequence', sequencename, start_value, min_value, data_type) from pg_sequences
"""
# Only for processes of an older release; a new database does not have these.
LEFT_BEHIND = re.compile(r"accounts_signincode|code_inbox|code_mail_due|catalog_catalogversion .*counts_at")


@pytest.fixture
def stores() -> Iterator[Stores]:
    own = Stores()
    own.embedded.add("DATABASE_URL")
    own.start()
    yield own
    own.stop()


def made(stores: Stores, name: str, *command: str) -> set[str]:
    stores.create_database(name)
    url = stores.database_url.replace("/agentpods?", f"/{name}?")
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT, env={**os.environ, "DATABASE_URL": url})
    with psycopg.connect(url) as connection:
        return {line for (line,) in connection.execute(HOLDS)}


def test_a_new_database_is_what_the_migrations_make_one_by_one(stores: Stores) -> None:
    new = made(stores, "new", "manage.py", "migrate", "--verbosity=0")
    grown = made(stores, "grown", "-c", ONE_BY_ONE)
    assert len(new) > 1000
    assert new - grown == set()
    assert {line for line in grown - new if not LEFT_BEHIND.search(line)} == set()
