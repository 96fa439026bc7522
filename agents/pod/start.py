"""The JSON documents that gateway and bridge start from, one each, and how they come by them: the local runtime writes
one to the stdin of each and closes the pipe; in a cluster `--start` names the file of a mounted Secret.

Environment of both programs: AGENTPODS_NAMESPACE and AGENTPODS_HOME (the marks by which a pod's processes are found),
AGENTPODS_SUPERVISOR (`<pid>:<create time>`, absent = no watch), KEEP_PODS. Nothing secret is in it, nor in arguments.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from agents.pod import hardening
from agents.runtimes.base import Identity, PodConfig, PodSecrets


def read(program: str, words: Sequence[str] | None = None) -> bytes:
    """The start document of this program, from wherever its arguments say. A wrong argument ends the program."""
    parser = argparse.ArgumentParser(prog=program, allow_abbrev=False)
    parser.add_argument("--start", type=Path, metavar="PATH", help="the start document; without this it is stdin")
    for mark in ("--namespace", "--home"):
        parser.add_argument(mark, help="by which others know whose process this is; not read")
    given: Path | None = parser.parse_args(words).start
    return given.read_bytes() if given else hardening.read_stdin()


def config_from(raw: dict[str, Any]) -> PodConfig:
    return PodConfig(**raw)


def secrets_from(raw: dict[str, Any]) -> PodSecrets:
    return PodSecrets(**raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayStart:
    namespace: str
    agent_id: str
    slug: str
    engine: str
    public_url: str | None
    console_url: str
    # The gateway keeps `<run_dir>/gateway.json` = {"pid", "revision", "certificate"}, written atomically (mode 600)
    # whenever it took a configuration, so that observe() knows what both programs have applied. `certificate` is the
    # fingerprint of `identity`: a gateway of a release without certificates does not say it.
    run_dir: str
    host: str  # the public and the management listener
    llm_host: str = "127.0.0.1"  # the key proxy: the pod's own affair, whatever the others listen on
    public_port: int
    management_port: int
    llm_port: int
    bridge_url: str
    bridge_token: str = field(repr=False)
    llm_token: str = field(repr=False)  # what the engine shows to the key proxy
    engine_url: str  # of an engine that is a server
    side_url: str = ""  # of a server beside the engine: its dashboard
    engine_password: str = field(repr=False)
    identity: Identity  # of the management listener
    config: PodConfig
    secrets: PodSecrets

    @classmethod
    def load(cls, text: bytes | str) -> Self:
        raw = json.loads(text)
        parts = {
            "identity": Identity(**raw["identity"]),
            "config": config_from(raw["config"]),
            "secrets": secrets_from(raw["secrets"]),
        }
        return cls(**{**raw, **parts})

    def dump(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeStart:
    namespace: str
    agent_id: str
    engine: str
    run_dir: str
    data_dir: str
    data_expected: bool = False  # the agent has run before: without its data the engine is not started
    restore: str = ""  # the restore that comes before the engine; its order is given over HTTP
    engine_cache: str
    restic: str = ""  # "" = the machine's own, or the one that was brought
    node: str = ""  # of the engine's image; "" = the one that comes with us
    memory_bytes: int
    host: str
    port: int
    token: str = field(repr=False)
    llm_url: str  # the key proxy: `http://127.0.0.1:<port>`; the engine gets `<llm_url>/llm/<provider>…`
    llm_token: str = field(repr=False)
    engine_port: int  # for an engine that is a server
    side_port: int = 0  # for a server beside the engine
    engine_password: str = field(repr=False)  # what that server asks for, also from the gateway
    config: PodConfig

    @classmethod
    def load(cls, text: bytes | str) -> Self:
        raw = json.loads(text)
        return cls(**{**raw, "config": config_from(raw["config"])})

    def dump(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode()
