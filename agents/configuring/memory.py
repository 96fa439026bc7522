"""An agent's soul, skills and memories, and how many conversations it keeps."""

from __future__ import annotations

from dataclasses import dataclass

from agents.backups import reading
from agents.engines.persona import persona_text
from agents.errors import MemoryUnreadable
from agents.models import Agent, Backup, Desired
from agents.pod.turns.failures import HopFailure
from agents.running import pods
from agents.runtimes import current_runtime, management
from config import waiting


@dataclass(frozen=True, slots=True)
class Remembered:
    name: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentMemory:
    """`is_cut`: the agent has more than is shown."""

    soul: str
    skills: list[str]
    memories: list[Remembered]
    sessions_count: int
    is_cut: bool
    backup: str = ""  # name of the backup that this was read from; "" means the pod itself


def of(agent: Agent) -> AgentMemory:
    """The soul as the engine gets it, and the contents of the engine's own files.

    While the pod cannot be asked, the files of the newest backup are read. Raises MemoryUnreadable when there is no
    backup, Unavailable when too many calls wait.
    """
    found, backup = _found(agent)
    return AgentMemory(
        soul=persona_text(pods.config_of(agent)),
        skills=found.skills,
        memories=[Remembered(name, content) for name, content in found.memories],
        sessions_count=found.sessions,
        is_cut=found.is_cut,
        backup=backup,
    )


def _found(agent: Agent) -> tuple[management.Memory, str]:
    try:
        return _read(agent), ""
    except MemoryUnreadable as unreadable:
        newest = Backup.objects.there().filter(agent=agent).first()
        if newest is None:
            raise
        with waiting.looks.take(agent.user_id):
            try:
                return reading.memory(newest), newest.name
            except reading.BackupUnreadable as failure:
                raise unreadable.with_backup(newest.name, str(failure)) from failure


def _read(agent: Agent) -> management.Memory:
    if agent.desired == Desired.STOPPED:
        raise MemoryUnreadable("the agent is stopped", f"POST /agents/{agent.id}/resume starts it")
    explain = f"GET /agents/{agent.id}/explain tells why"
    endpoint = current_runtime().endpoint(agent.namespace)
    if endpoint is None:
        raise MemoryUnreadable("its pod has no address", explain)
    with waiting.looks.take(agent.user_id):
        try:
            return management.memory(endpoint, pods.access_of(agent))
        except HopFailure as failure:
            raise MemoryUnreadable(f"its pod cannot be read ({failure.hop}: {failure.message})", explain) from failure
