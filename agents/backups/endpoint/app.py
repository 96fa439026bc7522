"""restic's REST protocol, version 2, in front of the store.

The platform makes a repository: a pod cannot write its `config` and `keys`. What is in a repository is never replaced,
and only restic's own locks can be deleted. Each object has the SHA-256 of its content as its name, and that is checked.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress

import obstore
from aiohttp import web
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import ObjectStore

from agents.backups.credentials import Credential, read
from agents.backups.endpoint.uploads import Uploads

# Our packs have 8 MiB, and one more blob may follow in a pack, which has at most 8 MiB.
OBJECT_BYTES = 20 * 1024 * 1024
CREDENTIALS = 10_000  # so many credentials have their bytes counted
LIST_TYPE = "application/vnd.x.restic.rest.v2"
KINDS = "data|index|keys|locks|snapshots"
WRITTEN = frozenset({"data", "index", "locks", "snapshots"})
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{1,15})")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BackupEndpoint:
    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._uploads = Uploads()
        self._added: OrderedDict[str, int] = OrderedDict()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=OBJECT_BYTES, middlewares=[_answer_errors])
        app.router.add_get("/healthz", self.healthz)
        app.router.add_get("/{agent}/config", self.get, allow_head=False)
        app.router.add_head("/{agent}/config", self.head)
        app.router.add_get(f"/{{agent}}/{{kind:{KINDS}}}/", self.list, allow_head=False)
        one = f"/{{agent}}/{{kind:{KINDS}}}/{{name:[0-9a-f]{{64}}}}"
        app.router.add_get(one, self.get, allow_head=False)
        app.router.add_head(one, self.head)
        app.router.add_post(one, self.add)
        app.router.add_delete(one, self.unlock)
        return app

    async def healthz(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def head(self, request: web.Request) -> web.Response:
        admitted(request)
        found = await obstore.head_async(self._store, path_of(request))
        return web.Response(headers={"Content-Length": str(found["size"])})

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Send the whole object, or one range of it, as it comes from the store."""
        agent_id = admitted(request).agent_id
        path, wanted = path_of(request), _RANGE.fullmatch(request.headers.get("Range", ""))
        if wanted:
            async with self._uploads.place(agent_id):
                return await self._part(path, int(wanted[1]), int(wanted[2]) + 1)
        found = await obstore.get_async(self._store, path)
        response = web.StreamResponse(headers={"Content-Length": str(found.meta["size"])})
        await response.prepare(request)
        async for chunk in found.stream():
            await response.write(bytes(chunk))
        await response.write_eof()
        return response

    async def _part(self, path: str, start: int, end: int) -> web.Response:
        """One range of an object. Some S3 servers answer a range like the whole object, which the library refuses. Then
        the range is cut out here."""
        size = (await obstore.head_async(self._store, path))["size"]
        end = min(end, size)
        if start >= end:
            raise web.HTTPRequestRangeNotSatisfiable
        try:
            body = bytes(await obstore.get_range_async(self._store, path, start=start, end=end))
        except BaseError:
            whole = await obstore.get_async(self._store, path)
            body = bytes(await whole.bytes_async())[start:end]
        return web.Response(status=206, body=body, headers={"Content-Range": f"bytes {start}-{end - 1}/{size}"})

    async def list(self, request: web.Request) -> web.StreamResponse:
        """Names and sizes as one JSON array, which is written while the store is read."""
        admitted(request)
        prefix = f"{request.match_info['agent']}/{request.match_info['kind']}"
        response = web.StreamResponse(headers={"Content-Type": LIST_TYPE})
        await response.prepare(request)
        await response.write(b"[")
        comma = b""
        async for page in obstore.list(self._store, prefix=prefix):
            for found in page:
                name = found["path"].rpartition("/")[2]
                await response.write(comma + b'{"name":"%s","size":%d}' % (name.encode(), found["size"]))
                comma = b","
        await response.write(b"]")
        await response.write_eof()
        return response

    async def add(self, request: web.Request) -> web.Response:
        """Store a new object. An object that exists already has the same content, because its name is the hash of the
        content."""
        credential = admitted(request)
        if request.match_info["kind"] not in WRITTEN or not credential.may_add:
            raise web.HTTPForbidden(reason="not with this credential")
        size = request.content_length
        if size is None or size > OBJECT_BYTES:
            raise web.HTTPRequestEntityTooLarge(OBJECT_BYTES, size or 0)
        self._count(credential, size)
        async with self._uploads.place(credential.agent_id):
            body = await self._uploads.read(request, credential.agent_id)
            if hashlib.sha256(body).hexdigest() != request.match_info["name"]:
                raise web.HTTPBadRequest(reason="the content is not what its name says")
            with suppress(AlreadyExistsError):
                await obstore.put_async(self._store, path_of(request), body, mode="create", use_multipart=False)
        return web.Response()

    async def unlock(self, request: web.Request) -> web.Response:
        admitted(request)
        if request.match_info["kind"] != "locks":
            raise web.HTTPForbidden(reason="nothing can be deleted")
        await obstore.delete_async(self._store, path_of(request))
        return web.Response()

    def _count(self, credential: Credential, size: int) -> None:
        """Count the bytes of a credential, and refuse more than it allows: a pod must not add without end."""
        added = self._added.pop(credential.nonce, 0) + size
        if added > credential.may_add:
            raise web.HTTPForbidden(reason=f"at most {credential.may_add} bytes with one credential")
        self._added[credential.nonce] = added
        if len(self._added) > CREDENTIALS:
            self._added.popitem(last=False)


def admitted(request: web.Request) -> Credential:
    """The credential of a request for exactly this repository, sent as a bearer token or as a password. Raises 401 or
    403."""
    credential = read(_shown(request.headers.get("Authorization", "")))
    if credential is None:
        raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Basic"})
    if credential.agent_id != request.match_info["agent"]:
        raise web.HTTPForbidden(reason="another repository")
    return credential


def _shown(header: str) -> str:
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return value
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def path_of(request: web.Request) -> str:
    """The object's path in the store. It is restic's usual layout, so that restic also reads the store without this
    endpoint."""
    agent, kind, name = (request.match_info.get(part, "") for part in ("agent", "kind", "name"))
    if not kind:
        return f"{agent}/config"
    return f"{agent}/data/{name[:2]}/{name}" if kind == "data" else f"{agent}/{kind}/{name}"


@web.middleware
async def _answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except FileNotFoundError as error:
        raise web.HTTPNotFound from error
    except BaseError as error:
        raise web.HTTPBadGateway(reason=f"the store does not answer ({type(error).__name__})") from error
