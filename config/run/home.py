"""${AGENTPODS_HOME}: its directories, the generated secrets, and the lock that allows one run at a time."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from io import TextIOWrapper
from pathlib import Path

from cryptography.fernet import Fernet

from config import embedded, env
from config.run import postgres

PRIVATE = ("run", "logs", "redis", "pods", "data", "caddy")


class HomeRefusal(Exception):
    """This home cannot be used now; the message says why and what to do."""


def make(home: Path) -> None:
    """Create missing directories. Existing ones keep their permissions."""
    if not home.exists():
        home.mkdir(parents=True)
        home.chmod(0o711 if os.geteuid() == 0 else 0o700)  # root's PostgreSQL user must pass through
    for name in PRIVATE:
        (home / name).mkdir(mode=0o700, exist_ok=True)


def claim(home: Path) -> TextIOWrapper:
    """Lock the home until this process ends. Keep the returned file open: closing it releases the lock."""
    lock = (home / "run" / "lock").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HomeRefusal(f"another `make run` already uses {home}; stop it or set AGENTPODS_HOME") from error
    return lock


def generate_secrets(home: Path) -> None:
    """Generate SECRET_KEY and SECRETS_KEYS once, in a file that only its owner can read."""
    path = home / "secrets.env"
    if path.exists() or (env.secret("SECRET_KEY") and env.secret("SECRETS_KEYS")):
        return
    write_private(path, f"SECRET_KEY={secrets.token_urlsafe(64)}\nSECRETS_KEYS={Fernet.generate_key().decode()}\n")


def write_private(path: Path, text: str) -> None:
    """Write a file that others can never read, and never see half-written."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 # mode
        file.write(text)
    fresh.rename(path)


def make_socket_directories(home: Path) -> None:
    """Create the short directories of `config.embedded.socket_directory`, where the usual path of a
    socket is too long.
    """
    data = embedded.postgres_data(home)
    user = postgres.user_of(data)
    for directory, name, uid in (
        (data, embedded.POSTGRES_SOCKET, user.pw_uid if user else os.geteuid()),
        (home / "redis", embedded.REDIS_SOCKET, os.geteuid()),
    ):
        chosen = embedded.socket_directory(directory, name)
        if chosen != directory:
            _make_private(chosen, uid=uid)


def _make_private(directory: Path, *, uid: int) -> None:
    """Create a private directory. In /tmp anybody may have created it before: refuse it unless it is only ours."""
    try:
        directory.mkdir(mode=0o700)
        os.chown(directory, uid, -1)
    except FileExistsError:
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != uid or stat.S_IMODE(found.st_mode) != 0o700:
            raise HomeRefusal(f"{directory} exists, but other users own it or can open it: remove it") from None
