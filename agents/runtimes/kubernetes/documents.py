"""Builds the start documents of a pod's two programs in a cluster. Each is stored in its own Secret.
The tokens between the two programs are derived from the ticket key and the namespace. So they are the same at every
deploy, and none of them reveals the key.
"""

from __future__ import annotations

import hashlib
import hmac

from agents.clusters.api import names
from agents.pod.start import BridgeStart, GatewayStart
from agents.runtimes.base import PodSpec

LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 # inside the pod; its network policy decides who may connect


def gateway(spec: PodSpec) -> bytes:
    """The gateway's start document, which contains the model key and the management token."""
    return GatewayStart(
        namespace=spec.namespace,
        agent_id=spec.agent_id,
        slug=spec.slug,
        engine=spec.engine,
        public_url=spec.public_url,
        console_url=spec.console_url,
        run_dir=names.RUN_DIRECTORY,
        host=EVERYWHERE,
        public_port=names.PUBLIC_PORT,
        management_port=names.MANAGEMENT_PORT,
        llm_host=LOOPBACK,
        llm_port=names.LLM_PORT,
        bridge_url=f"http://{LOOPBACK}:{names.BRIDGE_PORT}",
        bridge_token=_token(spec, "bridge"),
        llm_token=_token(spec, "llm"),
        engine_url=f"http://{LOOPBACK}:{names.ENGINE_PORT}",
        side_url=f"http://{LOOPBACK}:{names.SIDE_PORT}",
        engine_password=_token(spec, "engine"),
        identity=spec.identity,
        config=spec.config,
        secrets=spec.secrets,
    ).dump()


def bridge(spec: PodSpec) -> bytes:
    """The bridge's start document. The engine may see all of it, so it contains neither the model key nor the
    management token.
    """
    return BridgeStart(
        namespace=spec.namespace,
        agent_id=spec.agent_id,
        engine=spec.engine,
        run_dir=names.RUN_DIRECTORY,
        data_dir=names.DATA_DIRECTORY,
        data_expected=spec.data_expected,
        restore=spec.restore,
        restic=names.RESTIC,
        engine_cache=names.ENGINES_DIRECTORY,
        node=names.NODE,
        memory_bytes=spec.limits.memory_bytes,
        host=EVERYWHERE,
        port=names.BRIDGE_PORT,
        token=_token(spec, "bridge"),
        llm_url=f"http://{LOOPBACK}:{names.LLM_PORT}",
        llm_token=_token(spec, "llm"),
        engine_port=names.ENGINE_PORT,
        side_port=names.SIDE_PORT,
        engine_password=_token(spec, "engine"),
        config=spec.config,
    ).dump()


def _token(spec: PodSpec, purpose: str) -> str:
    message = f"{purpose}:{spec.namespace}".encode()
    return hmac.new(spec.secrets.ticket_key.encode(), message, hashlib.sha256).hexdigest()
