"""The wall around an engine whose way out is limited: its processes reach TCP ports of their own pod alone.

Landlock (Linux 6.7 and later) lets them connect to a few ports only, whatever the address. In a cluster, the pod's
network policy lets nothing out at just these ports, so only the gateway is left. seccomp takes away the ways to connect
of which Landlock knows nothing. Neither needs a right; both hold for all children and cannot be taken off again.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import psutil

from agents.pod import processes
from agents.pod.bridge import linux

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_CONNECT_TCP = 1 << 1
_NET_PORT = 2
_FIRST_WITH_NETWORK = 4  # the version of Landlock
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Machine:
    """An architecture, and its numbers of calls."""

    audit: int
    socket: int
    sendto: int
    sendmsg: int
    sendmmsg: int
    setsockopt: int


_MACHINES = {
    "x86_64": _Machine(audit=0xC000003E, socket=41, sendto=44, sendmsg=46, sendmmsg=307, setsockopt=54),
    "aarch64": _Machine(audit=0xC00000B7, socket=198, sendto=206, sendmsg=211, sendmmsg=269, setsockopt=208),
}
_IO_URING_SETUP, _X32 = 425, 0x40000000
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_DGRAM, _TYPE_MASK = 1, 2, 0xF
_TCP, _UDP = 6, 17
_FASTOPEN, _FASTOPEN_CONNECT = 0x20000000, 30
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOWED, _REFUSED = 0x7FFF0000, 0x00050000 | 1  # EPERM
_NUMBER, _ARCH = 0, 4


def is_possible() -> bool:
    """Whether this kernel can build the wall."""
    return platform.machine() in _MACHINES and _syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG) >= _FIRST_WITH_NETWORK


def child_setup(ports: Sequence[int] | None) -> Callable[[], None]:
    """What a child of the bridge runs between fork and exec; with a wall if only these ports may be reached."""
    return linux.die_with_parent if ports is None else around(ports, linux.die_with_parent)


def around(ports: Sequence[int], before: Callable[[], None]) -> Callable[[], None]:
    """What a child runs between fork and exec: `before`, and then the wall, with these ports left open. A child that
    cannot build it does not begin. All that needs memory is made here.
    """
    handled = (ctypes.c_uint64 * 3)(0, _CONNECT_TCP, 0)
    rules = [ctypes.create_string_buffer(struct.pack("=QQ", _CONNECT_TCP, port), 16) for port in ports]
    code = _filter(_MACHINES[platform.machine()])
    held = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))

    def build() -> None:
        before()
        ruleset = _syscall(_CREATE_RULESET, handled, 16, 0)
        done = [_syscall(_ADD_RULE, ruleset, _NET_PORT, rule, 0) for rule in rules]
        done.append(_LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
        done.append(_syscall(_RESTRICT_SELF, ruleset, 0))
        done.append(_LIBC.prctl(_SET_SECCOMP, _FILTER, program, 0, 0))
        if ruleset < 0 or any(done) or not held:
            os._exit(126)
        os.close(ruleset)

    return build


def outside(among: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those of these processes that no wall is around: they have no more filters of seccomp than the bridge."""
    own = _filters("self")
    return [one for one in among if _filters(one.pid) <= own]


def _filters(pid: int | str) -> int:
    """How many filters the process has. One that has just ended counts as walled."""
    found = re.search(rb"^Seccomp_filters:\s*(\d+)$", processes.read(pid, "status"), re.MULTILINE)
    return int(found[1]) if found else sys.maxsize


def _syscall(number: int, *given: object) -> int:
    return int(_LIBC.syscall(ctypes.c_long(number), *given))


def _filter(machine: _Machine) -> bytes:
    """The program of seccomp: sockets are local ones, TCP or UDP, and TCP connects by `connect` alone."""
    code: list[bytes] = [
        *_unless(_ARCH, _EQUAL, machine.audit),
        *_if(_NUMBER, _AT_LEAST, _X32),
        *_if(_NUMBER, _EQUAL, _IO_URING_SETUP),
    ]
    for number, argument in ((machine.sendto, 3), (machine.sendmsg, 2), (machine.sendmmsg, 3)):
        code += _of_call(number, _if(_argument(argument), _ANY_BIT, _FASTOPEN))
    is_tcp_option = [_op(_LOAD, _argument(1)), _op(_EQUAL, _TCP, 0, 3)]
    code += _of_call(machine.setsockopt, [*is_tcp_option, *_if(_argument(2), _EQUAL, _FASTOPEN_CONNECT)])
    code += _of_call(machine.socket, _sockets())
    return b"".join([*code, _op(_RETURN, _ALLOWED)])


def _sockets() -> list[bytes]:
    """Of `socket`: refuses other families, and other protocols than TCP and UDP. MPTCP is among them."""
    by_kind = {_SOCK_STREAM: _TCP, _SOCK_DGRAM: _UDP}
    checks: list[bytes] = []
    for kind, protocol in by_kind.items():
        checks += [
            _op(_LOAD, _argument(1)),
            _op(_AND, _TYPE_MASK),
            _op(_EQUAL, kind, 0, 5),
            _op(_LOAD, _argument(2)),
            _op(_EQUAL, 0, 2, 0),
            _op(_EQUAL, protocol, 1, 0),
            _op(_RETURN, _REFUSED),
            _op(_RETURN, _ALLOWED),
        ]
    internet = [*checks, _op(_RETURN, _REFUSED)]
    return [
        _op(_LOAD, _argument(0)),
        _op(_EQUAL, _AF_UNIX, len(internet) + 4, 0),
        _op(_EQUAL, _AF_NETLINK, len(internet) + 3, 0),
        _op(_EQUAL, _AF_INET, 2, 0),
        _op(_EQUAL, _AF_INET6, 1, 0),
        _op(_RETURN, _REFUSED),
        *internet,
    ]


def _of_call(number: int, body: list[bytes]) -> list[bytes]:
    """These checks, for this call alone."""
    return [_op(_LOAD, _NUMBER), _op(_EQUAL, number, 0, len(body)), *body]


def _if(where: int, test: int, value: int) -> list[bytes]:
    return [_op(_LOAD, where), _op(test, value, 0, 1), _op(_RETURN, _REFUSED)]


def _unless(where: int, test: int, value: int) -> list[bytes]:
    return [_op(_LOAD, where), _op(test, value, 1, 0), _op(_RETURN, _REFUSED)]


def _argument(index: int) -> int:
    """Where the lower half of this argument is: the kernel reads no more of those that are looked at here."""
    return 16 + 8 * index


def _op(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
