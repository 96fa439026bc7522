"""`make run`: check that a start is possible, prepare the home directory, and supervise the programs until a stop."""

from __future__ import annotations

import os
import signal
import sys
import time

import psutil
from django.core.exceptions import ImproperlyConfigured

from config.run import forks, launch, ports

UNCLEAN_WAIT_SECONDS = 8.0


def main() -> int:
    os.environ.setdefault("AGENTPODS_STARTED", str(time.time()))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if os.environ.get("MAKELEVEL"):
        launch.end_with_parent(signal.SIGTERM)  # if `make` is killed, this run ends too
    try:
        return _run()
    except ImproperlyConfigured as error:
        return _refuse(str(error))


def _run() -> int:
    from config import checks, embedded, settings  # noqa: PLC0415 # imported only now, when the environment is complete
    from config.run import caddy, home, postgres, programs, supervise  # noqa: PLC0415

    where = settings.AGENTPODS_HOME
    try:
        if problems := checks.refusals():
            return _refuse("AGENTPODS_ENV=production refuses to start:\n  " + "\n  ".join(problems))
        home.make(where)
        lock = home.claim(where)
        after_a_kill = (where / "run" / "supervisord.pid").exists()
        facing = ("HTTP_PORT", "HTTPS_PORT", "ASK_PORT") if settings.TLS == "auto" else ()
        measured = ("METRICS_PORT",) if settings.METRICS_PORT else ()
        wanted = {name: getattr(settings, name) for name in ("PORT", "ROUTER_PORT", *facing, *measured)}
        ports.check(wanted, patient_seconds=UNCLEAN_WAIT_SECONDS if after_a_kill else 0)
        if settings.DEVELOPMENT:
            home.generate_secrets(where)
        if not programs.is_given("DATABASE_URL"):
            postgres.initialise(postgres.place(where))
            postgres.forget_stale_pid(embedded.postgres_data(where))
        home.make_socket_directories(where)
        if settings.TLS == "auto":
            token = caddy.token()
            home.write_private(where / "run" / "ask-token", token)
            home.write_private(caddy.configuration_file(where), caddy.configuration(where, token=token))
    except (home.HomeRefusal, postgres.PostgresRefusal, ports.PortTaken) as error:
        return _refuse(str(error))
    with lock:
        launch.adopt_orphans()
        os.environ["AGENTPODS_SUPERVISOR"] = f"{os.getpid()}:{psutil.Process().create_time()}"
        configuration = where / "run" / "supervisord.conf"
        home.write_private(configuration, programs.supervisord_conf(programs.programs(), home=where))
        data = None if programs.is_given("DATABASE_URL") else embedded.postgres_data(where)
        return supervise.serve(configuration, postgres_data=data)


def _refuse(message: str) -> int:
    print(message, file=sys.stderr)  # noqa: T201 # the operator's terminal
    return 1


if __name__ == "__main__":
    forks.make_room()
    sys.exit(main())
