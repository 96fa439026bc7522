"""Between the stores and the rest: the database exists and is migrated, the catalog loaded, an operator can sign in."""

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
    call_command("load_catalog", verbosity=0, stdout=sys.stderr)  # its report is for the log
    if settings.DEVELOPMENT:
        ensure_operator()


def _await_database() -> None:
    """The server may still be reading its log after a crash."""
    deadline = time.monotonic() + STORE_SECONDS
    while True:
        try:
            _connect("postgres" if not is_given("DATABASE_URL") else connection.settings_dict["NAME"]).close()
        except psycopg.OperationalError as error:
            if time.monotonic() > deadline or _is_final(str(error)):
                sys.exit(f"PostgreSQL does not take us: {error}")
            time.sleep(POLL_SECONDS)
        else:
            return


def _is_final(message: str) -> bool:
    """A server that answers with a refusal, other than that it is still starting, will not change its mind."""
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
    """Only when something is to be done: asking is quick, Django's after-work is not."""
    with _connect(connection.settings_dict["NAME"]) as lock:
        lock.execute("select pg_advisory_lock(%s)", [MIGRATION_LOCK])
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)


def ensure_operator() -> None:
    """The operator of a development run: generated once, kept in operator.txt (user, then password)."""
    from accounts.models import User  # noqa: PLC0415 # needs Django's applications

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
