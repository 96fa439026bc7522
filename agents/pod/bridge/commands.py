"""Runs an installation command until it ends: npm, pip, or the engine when it reports its version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from agents.pod import processes
from agents.pod.bridge import linux
from agents.pod.bridge.log import EngineLog

Command = Sequence[str | Path]

CHUNK_BYTES = 64 * 1024
KEPT_BYTES = 1024 * 1024


class InstallError(Exception):
    """The engine could not be installed. The text ends with the last messages of the installer."""


async def run(
    name: str,
    command: Command,
    *,
    cwd: Path,
    log: EngineLog,
    seconds: float,
    env: Mapping[str, str] | None = None,
    heard: Callable[[str], None] | None = None,
) -> str:
    """Run the command and return its output, or only the end of a long output. `name` is the name shown to people.
    `heard` is called with each line as it arrives.
    The command gets the bridge's own environment, because it needs the proxies and certificates of the machine.
    Raises InstallError.
    """
    process = await asyncio.create_subprocess_exec(
        *(str(word) for word in command),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, **(env or {}), processes.ROLE: processes.INSTALL},
        start_new_session=True,
        preexec_fn=linux.die_with_parent,
    )
    linux.leave_to_asyncio(process)
    try:
        async with asyncio.timeout(seconds):
            output = await _read(process, heard)
            await process.wait()
    except TimeoutError as error:
        raise InstallError(f"{name} did not end within {seconds:.0f} s") from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    text = output.decode("utf-8", "replace")
    if process.returncode != 0:
        for line in text.splitlines()[-20:]:
            log.note(line)
        raise InstallError(f"{name} failed ({process.returncode}): {_verdict(text)}")
    return text


async def _read(process: asyncio.subprocess.Process, heard: Callable[[str], None] | None) -> bytes:
    output, rest = b"", b""
    while process.stdout and (chunk := await process.stdout.read(CHUNK_BYTES)):
        output = (output + chunk)[-KEPT_BYTES:]
        *lines, rest = (rest[-CHUNK_BYTES:] + chunk).split(b"\n")
        for line in lines:
            if heard:
                heard(line.decode("utf-8", "replace"))
    return output


def _verdict(text: str) -> str:
    errors = [line.strip() for line in text.splitlines() if "error" in line.lower() and "complete log" not in line]
    return " | ".join(errors[:3])[:400] or text.strip()[-200:]
