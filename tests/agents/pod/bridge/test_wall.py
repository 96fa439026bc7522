"""Around an engine whose way out is limited is a wall: its processes reach a few TCP ports, and no others."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.pod.bridge import wall
from tests.agents.pod.bridge.process import BridgeProcess, eventually, is_up, pod_config
from tests.doubles.pi import install_double

pytestmark = pytest.mark.skipif(not wall.is_possible(), reason="this kernel has no Landlock for networks")

# Prints what came of each attempt. {door} is open, {other} is not.
PROGRAM = """
import ctypes, json, socket, subprocess, sys
door, other = map(int, sys.argv[1:])
there = ("127.0.0.1", other)

def connected(*given, option=None):
    with socket.socket(*given) as one:
        if option:
            one.setsockopt(*option)
        one.connect(("::1", other) if given[0] == socket.AF_INET6 else there)

def sent(flag):
    with socket.socket() as one:
        one.sendto(b"x", flag, there)

def messaged(flag):
    with socket.socket() as one:
        one.sendmsg([b"x"], [], flag, there)

def by_a_child():
    code = f"import socket; socket.create_connection(('127.0.0.1', {other}))"
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)

attempts = {
    "the door": lambda: socket.create_connection(("127.0.0.1", door)).close(),
    "a local socket": lambda: socket.socketpair(),
    "a server of its own": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "an option of TCP": lambda: socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    "UDP": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
    "connect": lambda: connected(socket.AF_INET),
    "connect by IPv6": lambda: connected(socket.AF_INET6),
    "without waiting": lambda: connected(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK),
    "MPTCP": lambda: connected(socket.AF_INET, socket.SOCK_STREAM, 262),
    "SCTP": lambda: connected(socket.AF_INET, socket.SOCK_STREAM, 132),
    "fast open by sendto": lambda: sent(0x20000000),
    "fast open by sendmsg": lambda: messaged(0x20000000),
    "fast open by an option": lambda: connected(socket.AF_INET, option=(6, 30, 1)),
    "raw": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packets": lambda: socket.socket(17, socket.SOCK_RAW, 0),
    "vsock": lambda: socket.socket(40, socket.SOCK_STREAM),
    "a child": by_a_child,
}
told = {}
for name, attempt in attempts.items():
    try:
        attempt()
        told[name] = True
    except (OSError, subprocess.CalledProcessError):
        told[name] = False
told["io_uring"] = ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256)) >= 0
print(json.dumps(told))
"""
POSSIBLE = {"the door", "a local socket", "a server of its own", "an option of TCP", "UDP"}


@pytest.fixture
def ports() -> Iterator[tuple[int, int]]:
    """Two ports at which something listens."""
    with socket.create_server(("127.0.0.1", 0)) as door, socket.create_server(("127.0.0.1", 0)) as other:
        yield door.getsockname()[1], other.getsockname()[1]


def told(ports: tuple[int, int], *, open_ports: tuple[int, ...] | None) -> dict[str, bool]:
    words = [sys.executable, "-c", PROGRAM, *map(str, ports)]
    done = subprocess.run(words, preexec_fn=wall.child_setup(open_ports), capture_output=True, check=True, timeout=60)
    found: dict[str, bool] = json.loads(done.stdout)
    return found


def test_only_the_open_ports_are_reached_by_no_way_of_connecting(ports: tuple[int, int]) -> None:
    assert {name for name, is_done in told(ports, open_ports=ports[:1]).items() if is_done} == POSSIBLE


def test_without_a_wall_a_child_connects_as_usual(ports: tuple[int, int]) -> None:
    found = told(ports, open_ports=None)
    assert {*POSSIBLE, "connect", "a child"} <= {name for name, is_done in found.items() if is_done}


def told_of(bridge: BridgeProcess) -> dict[str, Any]:
    state = bridge.state()
    assert state is not None
    return state


def test_what_older_processes_left_behind_does_not_stay_outside(tmp_path: Path) -> None:
    """A program that the engine has started apart from itself, and a turn that still runs."""
    bridge = BridgeProcess(tmp_path / "home", install_double(tmp_path / "engines"))
    try:
        bridge.start(pod_config(egress_authority="x"))
        bridge.wait_for("ready")
        left_behind = int(bridge.reply("take 1"))
        turn = bridge.events("hang", "busy")
        next(turn)
        assert is_up(left_behind)
        bridge.configure(pod_config(revision=2, egress_authority="x", egress_limited=True))
        eventually(lambda: told_of(bridge)["revision"] == 2, within=20, what="the revision")
        eventually(lambda: not is_up(left_behind), within=10, what="its end")
        assert not told_of(bridge)["walled"], "the turn is outside"
        turn.close()
        eventually(lambda: told_of(bridge)["walled"], within=30, what="the wall")
    finally:
        bridge.clear_away()
