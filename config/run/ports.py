"""Checks whether the ports of `make run` are free.

Run as a file before anything is installed: standard library only.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

DEFAULT_PORT = 8000
LISTENING = "0A"  # the state code of a listening socket in /proc/net/tcp
STEP = 10


class PortTaken(Exception):
    """The message names the port, the program that uses it if known, and another port that is free."""


def chosen(environment: Mapping[str, str]) -> dict[str, int]:
    """PORT and ROUTER_PORT, read as config/settings.py does. Raises ValueError if a value is no port number."""
    port = _number("PORT", environment, DEFAULT_PORT)
    return {"PORT": port, "ROUTER_PORT": _number("ROUTER_PORT", environment, port + 1)}


def _number(name: str, environment: Mapping[str, str], default: int) -> int:
    text = environment.get(name, "").strip() or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:
        raise ValueError(f"{name}={text!r} must be a whole number from 1 to 65535")
    return int(text)


def check(ports: Mapping[str, int], *, patient_seconds: float = 0.0) -> None:
    """Raise PortTaken if a port is in use.

    Wait `patient_seconds` first: a killed run may need a moment to release its ports.
    """
    if len(set(ports.values())) < len(ports):
        raise PortTaken(f"{' and '.join(ports)} are both {min(ports.values())}: each needs a port of its own")
    deadline = time.monotonic() + patient_seconds
    for name, port in ports.items():
        while not _is_free(port):
            if time.monotonic() >= deadline:
                raise PortTaken(
                    f"port {port} is taken by {_holder(port)}: stop it, or choose another port, "
                    f"e.g. `make run {name}={_free_after(port)}`"
                )
            time.sleep(0.1)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError as error:
            raise PortTaken(
                f"port {port} is for programs of root: `sysctl net.ipv4.ip_unprivileged_port_start={port}` opens it,"
                " or choose another (docs/how-to/certificates.md)"
            ) from error
        except OSError:
            return False
    return True


def _free_after(port: int) -> int:
    """A free port whose next port is free too: if PORT changes, the router's port changes with it."""
    found = (other for other in range(port + STEP, 65_535, STEP) if _is_free(other) and _is_free(other + 1))
    return next(found, DEFAULT_PORT)


def _holder(port: int) -> str:
    """The program that listens on the port, if the system shows it. Only root sees the programs of others."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(file.readlink()) in sockets for file in (process / "fd").iterdir()):
                return f"{(process / 'comm').read_text().strip()} (pid {process.name})"
        except OSError:
            continue  # the process ended, or belongs to another user
    return "another program"


def _listening(port: int) -> list[str]:
    """The inodes of the sockets that listen on this port."""
    tables = [table for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if table.exists()]
    sockets = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return [fields[9] for fields in sockets if fields[1].endswith(f":{port:04X}") and fields[3] == LISTENING]


def main() -> None:
    try:
        check(chosen(os.environ))
    except (PortTaken, ValueError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
