"""Runs our own programs as forks of the supervisor, which has imported what most of them need.

So this is imported once and not by each program: a start takes less than half of the CPU, and the forks share the
memory until they change it. A fork is otherwise like a program that was started: it has its own environment, streams
and signals, and /proc shows its own command line. Programs of others are executed, and so are ours if an import fails:
the program's own log then says why.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import logging
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module, reload
from pathlib import Path
from typing import NoReturn

from config.run import launch

log = logging.getLogger(__name__)

# Also what only some programs need, if it is much: a fork that does not use it costs nothing.
SHARED = ("config.celery", "config.urls", "config.wsgi", "rest_framework.views", "aiohttp.web", "granian.server")
# The settings that differ between programs. All others are those of the supervisor.
OWN_SETTINGS = frozenset({"METRICS_PORT", "DATABASE_POOL_SIZE"})
# In /proc, a fork's command line takes the place of the supervisor's own, which is longer by this.
ROOM = "-" * 512
_ARG_START, _ARG_END = 45, 46  # in /proc/<pid>/stat, counted from the field behind the name
_SIGNALS = ("SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGCHLD", "SIGUSR2")  # those that supervisord takes


def make_room() -> None:
    """Start this program again with longer arguments, unless it has them."""
    if sys.argv[-1] != ROOM and sys.platform == "linux":
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], ROOM])  # noqa: S606


def warm_up() -> bool:
    """Import what the programs share. Returns whether there may be forks now."""
    import django  # noqa: PLC0415 # slow

    try:
        _read_settings_again()
        django.setup()
        for module in SHARED:
            import_module(module)
    except Exception:  # noqa: BLE001 # the program that needs it tells the reason, in its own log
        return False
    gc.collect()
    gc.freeze()
    return threading.active_count() == 1


def _read_settings_again() -> None:
    """They were read before the home's secrets were generated and PostgreSQL had its place."""
    from django import conf  # noqa: PLC0415

    from config import settings  # noqa: PLC0415

    reload(settings)
    conf.settings._wrapped = conf.empty  # type: ignore[attr-defined]  # noqa: SLF001 # as Django's own tests do


def module_of(command: Sequence[str]) -> tuple[str, list[str]] | None:
    """The module of ours that this command runs, and its arguments; None for any other program."""
    words = list(command)
    if "-m" not in words or words[words.index("-m") - 1] != sys.executable:
        return None
    at = words.index("-m") + 1
    return words[at], words[at + 1 :]


def become(module: str, arguments: list[str], environment: Mapping[str, str], *, parent: int) -> NoReturn:
    """Run the module in this process, which was forked a moment ago, and end."""
    status: object = 1
    try:
        launch.end_with_parent(signal.SIGTERM, parent=parent)
        for name in _SIGNALS:
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        _change(environment)
        sys.argv = [module, *arguments]
        _show([sys.executable, "-m", module, *arguments])
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001 # as the interpreter would print it
        traceback.print_exc()
    _end(status)


def _change(environment: Mapping[str, str]) -> None:
    """Take this environment, and the settings of this program that are in it."""
    from django.conf import settings  # noqa: PLC0415

    os.environ.clear()
    os.environ.update(environment)
    settings.METRICS_PORT = int(environment.get("METRICS_PORT") or settings.METRICS_PORT)
    size = int(environment.get("DATABASE_POOL_SIZE") or settings.DATABASE_POOL_SIZE)
    settings.DATABASE_POOL_SIZE = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"] = size


def _show(command: list[str]) -> None:
    """Show this command line in /proc, if there is room."""
    if sys.platform != "linux":
        return
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
    shown = b"".join(os.fsencode(word) + b"\0" for word in command)
    if len(shown) <= end - start:
        ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def _end(status: object) -> NoReturn:
    """End as the interpreter does: wait for threads, run what was registered, and write what is buffered."""
    if not isinstance(status, int | None):
        sys.stderr.write(f"{status}\n")
        status = 1
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 # as multiprocessing does at the end of its forks
        atexit._run_exitfuncs()  # noqa: SLF001 # the same
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status or 0)
