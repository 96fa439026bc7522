"""The agent card for clients of A2A 1.0 and 0.3. It contains only public information.
There are two documents, because the schema of 1.0 allows no other fields, and clients of 0.3 need some. The document of
0.3 also has the fields of 1.0, for clients that know both.
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

# Seconds. Short, so that clients soon see a new name or a changed toolset.
CACHED_SECONDS = 30
# Today's engines give nothing else. If an adapter yields files, add their types here.
_ANSWERS = ["text/plain"]
# A request for this path does not say its version, so it gets the newest version.
PATH = "/.well-known/agent-card.json"
# Clients of 0.3 look in these places: the path of the first releases, and below the `a2aUrl` that they were given.
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
    """Whether the client needs the document of 0.3: by its version header, and without the header by the path."""
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
    """The address for calls of peers. Without a public address it is the pod's own address."""
    start = pod.start
    return f"{start.public_url or f'http://{start.host}:{start.public_port}'}/a2a"


def _interfaces(address: str, *, old: bool) -> dict[str, Any]:
    """Version 1.0 lists its interfaces, newest first. Version 0.3 has one address and its transport."""
    offered = [{"url": address, "protocolBinding": "JSONRPC", "protocolVersion": version} for version in ("1.0", "0.3")]
    main = {"url": address, "preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}
    return {"supportedInterfaces": offered, **(main if old else {})}


def _security(*, old: bool) -> dict[str, Any]:
    """Say that a bearer token is needed. Clients send theirs only if both the scheme and the requirement are there, in
    the spelling of their version.
    """
    scheme: dict[str, Any] = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    return {
        "securitySchemes": {"bearer": {**scheme, "type": "http", "scheme": "Bearer"} if old else scheme},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}],
        **({"security": [{"bearer": []}]} if old else {}),
    }
