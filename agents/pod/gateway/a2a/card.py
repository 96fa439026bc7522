"""The agent card: one document that clients of 1.0 and of 0.3 both understand. It tells nothing that is not public."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from aiohttp import web

from agents.pod.gateway.pod import Pod
from agents.pod.gateway.texts import texts

# Short, so that a renamed agent or a switched toolset is seen soon.
CACHED_SECONDS = 30
_TEXT = ["text/plain"]


def answer(request: web.Request, pod: Pod) -> web.Response:
    body = json.dumps(of(pod), ensure_ascii=False).encode()
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": f"public, max-age={CACHED_SECONDS}"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
    if etag.removeprefix("W/") in known:
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, content_type="application/json", headers=headers)


def of(pod: Pod) -> dict[str, Any]:
    config = pod.config
    words = texts(config.lang, name=config.name)
    skill = {"id": "chat", "name": words["a2a_skill"], "description": words["a2a_skill_text"], "tags": ["chat"]}
    return {
        "name": config.name,
        "description": words["a2a_text"],
        "version": str(config.revision),
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": _TEXT,
        "defaultOutputModes": _TEXT,
        "skills": [skill],
        **_interfaces(url(pod)),
        **_security(),
    }


def url(pod: Pod) -> str:
    """Where peers send their calls; the pod's own address where it has no public one."""
    start = pod.start
    return f"{start.public_url or f'http://{start.host}:{start.public_port}'}/a2a"


def _interfaces(address: str) -> dict[str, Any]:
    """Version 1.0 lists interfaces, the newest first; 0.3 has one address and its transport."""
    offered = [{"url": address, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")]
    old = {"url": address, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}
    return {"supportedInterfaces": offered, **old}


def _security() -> dict[str, Any]:
    """A bearer, in both spellings: clients send theirs only where scheme and requirement are there."""
    scheme = {"httpAuthSecurityScheme": {"scheme": "Bearer"}, "type": "http", "scheme": "Bearer"}
    return {
        "securitySchemes": {"bearer": scheme},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        "security": [{"bearer": []}],
    }
