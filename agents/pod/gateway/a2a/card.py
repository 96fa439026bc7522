"""The agent card, for clients of 1.0 and of 0.3. It tells nothing that is not public.

The schema of 1.0 allows no other fields, and clients of 0.3 need some: so there are two documents. The one of 0.3 has
the fields of 1.0 too, for clients that know both.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from aiohttp import web

from agents.pod.gateway.a2a import reading
from agents.pod.gateway.a2a.dialects import VERSION_HEADER
from agents.pod.gateway.pod import Pod
from agents.pod.gateway.words import texts

# Short, so that a renamed agent or a switched toolset is seen soon.
CACHED_SECONDS = 30
# No engine of today gives more; an adapter that yields files names their types here.
_ANSWERS = ["text/plain"]
# Nobody tells by its request for this path which version it speaks, so it is the newest that is found there.
PATH = "/.well-known/agent-card.json"
# Where clients of 0.3 look: at the path of its first releases, and below the `a2aUrl` that they were given.
OLD_PATHS = ("/.well-known/agent.json", f"/a2a{PATH}")


def answer(request: web.Request, pod: Pod) -> web.Response:
    body = json.dumps(of(pod, old=_wants_old(request)), ensure_ascii=False).encode()
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    changed = format_datetime(datetime.fromtimestamp(pod.configured_at, UTC), usegmt=True)
    headers = {
        "ETag": etag,
        "Cache-Control": f"public, max-age={CACHED_SECONDS}",
        "Last-Modified": changed,
        "Vary": VERSION_HEADER,
    }
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]
    if etag.removeprefix("W/") in known:
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, content_type="application/json", headers=headers)


def _wants_old(request: web.Request) -> bool:
    """What the client says it speaks; a client that does not say is judged by where it looks."""
    said = request.headers.get(VERSION_HEADER, "").strip()
    return said.startswith("0.") if said else request.path in OLD_PATHS


def of(pod: Pod, *, old: bool) -> dict[str, Any]:
    config = pod.config
    words = texts(config.lang, name=config.name)
    skill = {"id": "chat", "name": words["a2a_skill"], "description": words["a2a_skill_text"], "tags": ["chat"]}
    return {
        "name": config.name,
        "description": words["a2a_text"],
        "version": str(config.revision),
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": reading.MEDIA_TYPES,
        "defaultOutputModes": _ANSWERS,
        "skills": [skill],
        **_interfaces(url(pod), old=old),
        **_security(old=old),
    }


def url(pod: Pod) -> str:
    """Where peers send their calls; the pod's own address where it has no public one."""
    start = pod.start
    return f"{start.public_url or f'http://{start.host}:{start.public_port}'}/a2a"


def _interfaces(address: str, *, old: bool) -> dict[str, Any]:
    """Version 1.0 lists interfaces, the newest first; 0.3 has one address and its transport."""
    offered = [{"url": address, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")]
    main = {"url": address, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}
    return {"supportedInterfaces": offered, **(main if old else {})}


def _security(*, old: bool) -> dict[str, Any]:
    """A bearer: clients send theirs only where scheme and requirement are there, each in its version's spelling."""
    scheme: dict[str, Any] = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    return {
        "securitySchemes": {"bearer": {**scheme, "type": "http", "scheme": "Bearer"} if old else scheme},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        **({"security": [{"bearer": []}]} if old else {}),
    }
