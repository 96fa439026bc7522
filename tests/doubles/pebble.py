"""Pebble, the ACME test server of Let's Encrypt, on loopback: it orders, validates and issues like the real one.

The program is Debian's (tests/debian.py); `PEBBLE` may name another one.
"""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.debian import program
from tests.doubles.certificates import Certificates
from tests.patience import Patience
from tests.ports import free_port


@dataclass(frozen=True)
class Pebble:
    directory: str  # the URL of its ACME directory
    roots: Path  # the certificates to trust: Pebble's own and those it signs with


def _run(command: list[str], place: str) -> None:
    subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=120)


@contextmanager
def running(place: Path, *, names: tuple[str, int], http_port: int, tls_port: int) -> Iterator[Pebble]:
    """Run Pebble. `names` is its DNS server; on the ports it looks for the answers to its challenges."""
    certificates = Certificates(place)
    certificates.server("localhost", "127.0.0.1")
    port, management = free_port(), free_port()
    given = {
        "listenAddress": f"127.0.0.1:{port}",
        "managementListenAddress": f"127.0.0.1:{management}",
        "certificate": str(certificates.served),
        "privateKey": str(certificates.served),
        "httpPort": http_port,
        "tlsPort": tls_port,
    }
    configuration = place / "pebble.json"
    configuration.write_text(json.dumps({"pebble": given}), encoding="utf-8")
    command = [
        str(program("pebble", package="pebble")),
        "-config",
        str(configuration),
        "-dnsserver",
        f"{names[0]}:{names[1]}",
    ]
    environment = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PATH": os.environ["PATH"]}
    with (place / "pebble.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        root = _root(f"https://127.0.0.1:{management}/roots/0", certificates.authority, process)
        roots = place / "roots.pem"
        roots.write_bytes(certificates.authority.read_bytes() + root)
        yield Pebble(f"https://127.0.0.1:{port}/dir", roots)
    finally:
        process.kill()
        process.wait()


def _root(url: str, authority: Path, process: subprocess.Popen[bytes]) -> bytes:
    """The root certificate, which is new at each start."""
    context, patience = ssl.create_default_context(cafile=authority), Patience(20)
    while True:
        try:
            with urllib.request.urlopen(url, context=context, timeout=5) as answer:
                root: bytes = answer.read()
                return root
        except OSError:
            assert process.poll() is None, "pebble has ended"
            assert not patience.ended(), "pebble does not answer"
            time.sleep(0.1)
