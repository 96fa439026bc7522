"""The start documents: one JSON document each for gateway and bridge. The local runtime writes it to the program's
stdin and closes the pipe; in a cluster, `--start` names the file of a mounted Secret.
Environment of both programs: AGENTPODS_NAMESPACE and AGENTPODS_HOME (the marks by which a pod's processes are found),
AGENTPODS_SUPERVISOR (`<pid>:<create time>`; without it there is no watch), KEEP_PODS. Neither the environment nor the
arguments contain secrets.
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
    """Read the start document of this program from the place that its arguments name. A wrong argument ends the
    program.
    """
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
    # The gateway writes `<run_dir>/gateway.json` = {"pid", "revision", "certificate"} with mode 600 after each new
    # configuration, replacing the file as a whole. So `observe()` of the runtime knows the revisions of both programs.
    # `certificate` is the fingerprint of `identity`; a gateway of an old release without certificates does not write
    # it.
    run_dir: str
    host: str  # address of the public and the management listener
    llm_host: str = "127.0.0.1"  # address of the key proxy: always inside the pod, whatever the other listeners use
    public_port: int
    management_port: int
    llm_port: int
    bridge_url: str
    bridge_token: str = field(repr=False)
    llm_token: str = field(repr=False)  # the engine's token for the key proxy
    engine_url: str  # for an engine that is a server
    side_url: str = ""  # for a server beside the engine, such as its dashboard
    engine_password: str = field(repr=False)
    identity: Identity  # certificate and key of the management listener
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
    data_expected: bool = False  # the agent has run before, so its engine must not start without its data
    restore: str = ""  # id of the restore that must come before the engine; its order is sent by HTTP
    engine_cache: str
    restic: str = ""  # "" = the machine's own, or the downloaded copy
    node: str = ""  # from the engine's image; "" = the one that is installed with this service
    memory_bytes: int
    host: str
    port: int
    token: str = field(repr=False)
    llm_url: str  # the key proxy, `http://127.0.0.1:<port>`; the engine uses `<llm_url>/llm/<provider>…`
    llm_token: str = field(repr=False)
    engine_port: int  # for an engine that is a server
    side_port: int = 0  # for a server beside the engine
    engine_password: str = field(repr=False)  # the password that this server asks for, from the gateway too
    config: PodConfig

    @classmethod
    def load(cls, text: bytes | str) -> Self:
        raw = json.loads(text)
        return cls(**{**raw, "config": config_from(raw["config"])})

    def dump(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode()
