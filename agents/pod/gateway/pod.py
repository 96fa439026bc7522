"""The gateway's knowledge of its pod, only in memory. A new configuration replaces all of it in one assignment."""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import time
from pathlib import Path

from agents.pod.masking import secrets_of
from agents.pod.start import GatewayStart
from agents.runtimes.base import PodConfig, PodSecrets

log = logging.getLogger(__name__)


class Pod:
    """The current start document. Read `config` and `secrets` once per request, because they may change between two
    reads.
    """

    def __init__(self, start: GatewayStart) -> None:
        self._start = start
        self.started_at = self.configured_at = time.time()

    @property
    def start(self) -> GatewayStart:
        return self._start

    @property
    def config(self) -> PodConfig:
        return self._start.config

    @property
    def secrets(self) -> PodSecrets:
        return self._start.secrets

    @property
    def has_key(self) -> bool:
        return bool(self._start.secrets.llm_key)

    def replace(self, config: PodConfig, secrets: PodSecrets) -> None:
        self._start = dataclasses.replace(self._start, config=config, secrets=secrets)
        self.configured_at = time.time()
        self.report()

    def secret_texts(self) -> list[str]:
        """All texts that must never appear in a log line or an answer."""
        own, start = self.secrets, self._start
        given = (own.management_token, own.ticket_key, own.llm_key, own.dash_password, own.a2a_token)
        peers = [peer.get("token") for peer in own.a2a_peers]
        inner = (start.bridge_token, start.llm_token, start.engine_password, start.identity.key)
        tools = [*own.tool_keys.values(), *(one["value"] for one in own.egress.get("secrets", ()))]
        return [text for text in (*given, *peers, *tools, *inner, *secrets_of(self.config)) if text]

    def report(self) -> None:
        """Write `gateway.json`, so that the runtime sees the current revision. If this fails, the next report tries
        again.
        """
        try:
            _write(Path(self._start.run_dir) / "gateway.json", self._said())
        except OSError as error:
            log.warning("gateway.json: %s", error)

    def _said(self) -> dict[str, int | str]:
        certificate = self._start.identity.fingerprint
        return {"pid": os.getpid(), "revision": self.config.revision, "certificate": certificate}


def _write(path: Path, body: dict[str, int | str]) -> None:
    """Replace the file as a whole. Only its owner can read it."""
    fresh = path.with_suffix(".tmp")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(body, file)
    fresh.replace(path)
