"""Reads a backup as a pod does, through the endpoint. So the reading process needs no credentials of the store."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from django.conf import settings

from agents.backups import address, credentials, supply
from agents.backups.models import Backup
from agents.pod import restic
from agents.pod.archive import MEMORY
from agents.pod.restic import NoRestic
from agents.runtimes.management import Memory, memory_of

MEMORY_BYTES = 4 * 1024 * 1024
MEMORY_SECONDS = 30.0


class BackupUnreadable(Exception):
    """The backup cannot be read now, or does not have what is looked for. The message is for people."""


def way_to(backup: Backup, url: str) -> dict[str, Any]:
    """What a program needs to read this backup: restic, its environment, snapshot and password. Raises NoRestic."""
    program = supply.ensure(settings.RESTIC, settings.ENGINE_CACHE)
    door = {"RESTIC_REST_USERNAME": "web", "RESTIC_REST_PASSWORD": credentials.mint(backup.agent_id)}
    environment = restic.environment(repository=f"rest:{url}/{backup.agent_id}/", cache=None, more=door)
    password = backup.agent.repository.password
    return {"program": str(program), "snapshot": backup.snapshot, "password": password, "environment": environment}


def memory(backup: Backup) -> Memory:
    """What the engine had learned when the backup was made. Raises Unreadable."""
    url = address.url()
    if url is None:
        raise BackupUnreadable("the endpoint of backups is not there")
    try:
        way = way_to(backup, url)
        command = [way["program"], "--quiet", "--no-cache", "--no-lock", "dump", backup.snapshot, f"/{MEMORY}"]
        return memory_of(json.loads(_said(command, way["environment"], way["password"])))
    except NoRestic as error:
        raise BackupUnreadable(str(error)) from error
    except (KeyError, TypeError, ValueError, subprocess.TimeoutExpired) as error:
        raise BackupUnreadable("it does not contain what the engine had learned") from error


def _said(command: list[str], environment: dict[str, str], password: str) -> bytes:
    """The output of restic. Raises ValueError above MEMORY_BYTES: a hostile agent may have put anything there."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("pipes were asked for")
        try:
            process.stdin.write(password.encode())
            process.stdin.close()
            said = process.stdout.read(MEMORY_BYTES + 1)
            if len(said) > MEMORY_BYTES:
                raise ValueError("too much")
            process.wait(MEMORY_SECONDS)
            return said
        finally:
            process.kill()
