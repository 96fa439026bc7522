"""Run a program that ends when its parent does: `launch.py [--user NAME] [--end-signal INT] [--parent PID] PROGRAM …`

With `--clean` the program does not see our environment, except for a few variables that hold no secret.
It replaces itself with the program, so that the pid its parent knows is the program's own. It is run as a file and uses
the standard library alone: it stands before each program that starts.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pwd
import signal
import sys
from collections.abc import Mapping

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# All that a program which is not ours gets of our environment. AGENTPODS_HOME says which run a process belongs to.
_NOT_SECRET = ("PATH", "LANG", "LC_ALL", "TZ", "TZDIR", "TMPDIR", "LD_LIBRARY_PATH", "AGENTPODS_HOME")


def main(arguments: list[str]) -> None:
    options = _parse(arguments)
    if options.user:
        become(pwd.getpwnam(options.user))
    # After the change of user, which would clear it.
    end_with_parent(signal.Signals[f"SIG{options.end_signal}"], parent=options.parent)
    environment = clean(os.environ) if options.clean else os.environ
    os.execvpe(options.program[0], options.program, environment)  # noqa: S606 # replacing ourselves is the purpose


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--user")
    parser.add_argument("--end-signal", default="TERM")
    parser.add_argument("--parent", type=int)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that is not ours: no secret, no setting, nothing that its own libraries read."""
    return {name: environment[name] for name in _NOT_SECRET if name in environment}


def become(user: pwd.struct_passwd) -> None:
    """Give up root's rights for good, and leave a directory that the new user may not enter."""
    os.chdir("/")
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def end_with_parent(with_signal: signal.Signals, *, parent: int | None = None) -> None:
    """Ask the kernel for `with_signal` when the parent dies. Only Linux can; elsewhere only a stop ends it."""
    _prctl(PR_SET_PDEATHSIG, int(with_signal))
    if parent is not None and os.getppid() != parent:
        sys.exit("launch: the parent is already gone")


def adopt_orphans() -> None:
    """Take in what our programs leave behind, so that it is reaped where no init process does that."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
