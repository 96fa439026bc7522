"""`make run`: check that we may start, prepare the home, and supervise until told to stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

import psutil
from django.core.exceptions import ImproperlyConfigured

from config.run import launch

UNCLEAN_WAIT_SECONDS = 8.0


def main() -> int:
    os.environ.setdefault("AGENTPODS_STARTED", str(time.time()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if os.environ.get("MAKELEVEL"):
        launch.end_with_parent(signal.SIGTERM)  # `make` that is killed takes the run with it
    try:
        return _run()
    except ImproperlyConfigured as error:
        return _refuse(str(error))


def _run() -> int:
    from config import checks, embedded, settings  # noqa: PLC0415 # read after the environment is complete
    from config.run import home, postgres, programs, supervise  # noqa: PLC0415

    where = settings.AGENTPODS_HOME
    try:
        if problems := checks.refusals():
            return _refuse("AGENTPODS_ENV=production refuses to start:\n  " + "\n  ".join(problems))
        home.make(where)
        lock = home.claim(where)
        for name in ("PORT", "ROUTER_PORT"):
            _check_port(name, getattr(settings, name), patient=(where / "run" / "supervisord.pid").exists())
        if settings.DEVELOPMENT:
            home.generate_secrets(where)
        if not programs.is_given("DATABASE_URL"):
            postgres.initialise(postgres.place(where))
            postgres.forget_stale_pid(embedded.postgres_data(where))
        home.make_socket_directories(where)
    except (home.HomeRefusal, postgres.PostgresRefusal, PortTaken) as error:
        return _refuse(str(error))
    with lock:
        launch.adopt_orphans()
        os.environ["AGENTPODS_SUPERVISOR"] = f"{os.getpid()}:{psutil.Process().create_time()}"
        configuration = where / "run" / "supervisord.conf"
        home.write_private(configuration, programs.supervisord_conf(programs.programs(), home=where))
        data = None if programs.is_given("DATABASE_URL") else embedded.postgres_data(where)
        return supervise.serve(configuration, postgres_data=data)


class PortTaken(Exception):
    pass


def _check_port(name: str, port: int, *, patient: bool) -> None:
    """After a run that was killed its web may need a moment to let go."""
    deadline = time.monotonic() + (UNCLEAN_WAIT_SECONDS if patient else 0)
    while not _is_free(port):
        if time.monotonic() >= deadline:
            raise PortTaken(
                f"port {port} is taken by another program: choose another, e.g. `make run {name}={port + 10}`"
            )
        time.sleep(0.1)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)  # noqa: T201 # the operator's terminal
    return 1


if __name__ == "__main__":
    sys.exit(main())
