"""Runs after the stores and before the app: creates and migrates the database, loads the catalog,
creates an operator.
"""

from __future__ import annotations

import secrets
import sys
import time

import django
import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.run import home
from config.run.programs import is_given

STORE_SECONDS = 60
POLL_SECONDS = 0.05
OPERATOR = "operator@localhost"
MIGRATION_LOCK = 0x6167706D  # one migration at a time on a shared database


def main() -> None:
    try:
        django.setup()
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    _await_database()
    if not is_given("DATABASE_URL"):
        _create_database()
    migrate()
    call_command("load_catalog", verbosity=0, stdout=sys.stderr)  # its report goes to the log
    if settings.DEVELOPMENT:
        ensure_operator()


def _await_database() -> None:
    """Wait for the server: after a crash it first reads its log.

    Exit if it refuses us or is not up in STORE_SECONDS.
    """
    deadline = time.monotonic() + STORE_SECONDS
    while True:
        try:
            _connect("postgres" if not is_given("DATABASE_URL") else connection.settings_dict["NAME"]).close()
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline or _is_final(str(error)):
                sys.exit(f"PostgreSQL refuses the connection: {error}")
            time.sleep(POLL_SECONDS)
        else:
            return


def _is_final(message: str) -> bool:
    """Whether a retry is useless: the server refuses us, and not because it is starting, stopping or recovering."""
    return "FATAL:" in message and not any(word in message for word in ("starting up", "shutting down", "recovery"))


def _connect(database: str) -> psycopg.Connection[tuple[object, ...]]:
    at = connection.settings_dict
    return psycopg.connect(
        host=at["HOST"],
        port=at["PORT"] or None,
        user=at["USER"],
        password=at["PASSWORD"] or None,
        dbname=database,
        autocommit=True,
    )


def _create_database() -> None:
    name = connection.settings_dict["NAME"]
    with _connect("postgres") as admin:
        if admin.execute("select 1 from pg_database where datname = %s", [name]).fetchone() is None:
            admin.execute(psycopg.sql.SQL("create database {}").format(psycopg.sql.Identifier(name)))


def migrate() -> None:
    """Migrate if there is something to migrate. The check is quick, Django's work after a migration is not."""
    with _connect(connection.settings_dict["NAME"]) as lock:
        lock.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)


def ensure_operator() -> None:
    """Create the operator of a development run. The file operator.txt keeps the generated user and password."""
    from accounts.models import User  # noqa: PLC0415 # can be imported only after django.setup()

    path = settings.AGENTPODS_HOME / "operator.txt"
    if not path.exists():
        home.write_private(path, f"{OPERATOR}\n{secrets.token_urlsafe(18)}\n")
    email, password = path.read_text(encoding="utf-8").split()[:2]
    operator = User.objects.filter(email=email).first()
    if operator is None:
        User.objects.create_superuser(email, password)
    elif not operator.check_password(password):
        operator.set_password(password)
        operator.save(update_fields=["password"])


if __name__ == "__main__":
    main()
