"""Run a program that ends when its parent does: `launch.py [--user NAME] [--end-signal INT] [--parent PID] PROGRAM …`

With `--clean` the program gets only a few environment variables that hold no secret. launch.py replaces itself with the
program, so the pid that the parent knows is the program's own pid. It is run as a file and uses only the standard
library, because it runs before each program.
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
# The only environment variables that programs of others get. AGENTPODS_HOME shows to which run a process belongs.
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
    """The environment for a program that is not ours: no secrets, no settings, nothing that its own libraries read."""
    return {name: environment[name] for name in _NOT_SECRET if name in environment}


def become(user: pwd.struct_passwd) -> None:
    """Give up root's rights for good. Change to `/` first: the new user may not be allowed in the current directory."""
    os.chdir("/")
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def end_with_parent(with_signal: signal.Signals, *, parent: int | None = None) -> None:
    """Ask the kernel to send `with_signal` when the parent dies.

    Only Linux can; on other systems only a stop ends it.
    """
    _prctl(PR_SET_PDEATHSIG, int(with_signal))
    if parent is not None and os.getppid() != parent:
        sys.exit("launch: the parent is already gone")


def adopt_orphans() -> None:
    """Become the parent of processes that our programs leave behind, and reap them where no init process does."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
