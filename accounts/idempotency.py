"""`Idempotency-Key` for an action of a view set: a repeated request gets the reply of the first one.

    @idempotent
    def create(self, request: Request) -> Response:
        ...                                        # validation and network checks, outside of a transaction
        with transaction.atomic():
            agent = creation.create(...)
            return keep(self.answer(agent))        # stores the reply in the transaction that creates the agent

If an action does not call `keep`, its reply is stored right after it. If the process dies between the two, a
reservation stays. The first request after 60 seconds takes the reservation over and does the work again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import replies
from accounts.authentication import caller, limited_key
from accounts.models import IdempotentReply
from config import dry_run
from config.api import ApiViewSet
from config.crypto import sha256
from config.errors import BadRequest, ServiceError

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
MAX_PATH = 255
KEPT_HEADERS = ("Location", "Link")
NOT_KEPT = {429}

_KEY = re.compile(r"[\x20-\x7e]{1,255}")
_REFUSALS = (ServiceError, APIException, Http404, PermissionDenied)

_reservation: ContextVar[IdempotentReply | None] = ContextVar("idempotency_reservation", default=None)

P = ParamSpec("P")
V = TypeVar("V", bound=ApiViewSet)
Action = Callable[Concatenate[V, Request, P], Response]


def idempotent(action: Action[V, P]) -> Action[V, P]:
    """Let clients repeat this action safely. A request without the header runs the action as usual."""

    @functools.wraps(action)
    def once(view: V, request: Request, /, *args: P.args, **kwargs: P.kwargs) -> Response:
        if HEADER not in request.headers:
            return action(view, request, *args, **kwargs)
        _check_key(request)
        if dry_run.is_on():
            return action(view, request, *args, **kwargs)
        row = _reserve(request)
        if row.status is not None:
            return Response(row.reply["body"], status=row.status, headers={**row.reply["headers"], REPLAYED: "true"})
        return _run(view, row, functools.partial(action, view, request, *args, **kwargs))

    return once


def keep(response: Response) -> Response:
    """Store this reply now, in the current transaction, if the request came with an Idempotency-Key."""
    row = _reservation.get()
    if row is not None and row.status is None:
        body = None if response.data is None else json.loads(JSONRenderer().render(response.data))
        headers = {name: response[name] for name in KEPT_HEADERS if name in response}
        replies.keep(row, status=response.status_code, reply={"body": body, "headers": headers})
        row.status = response.status_code
    return response


def _reserve(request: Request) -> IdempotentReply:
    body = request.data  # a malformed body is refused here, before anything is reserved
    return replies.reserve(
        caller(request),
        method=str(request.method),
        path=quote(request.path)[:MAX_PATH],
        key=_of_caller(request, request.headers[HEADER]),
        fingerprint=_fingerprint(request.get_full_path(), body),
        now=timezone.now(),
    )


def _check_key(request: Request) -> None:
    if _KEY.fullmatch(request.headers[HEADER]) is None:
        raise BadRequest(f"{HEADER}: must have 1 to 255 printable ASCII characters")


def _of_caller(request: Request, key: str) -> str:
    """The key under which the reply is stored.

    Each limited API key has replies of its own: those of other credentials may show what it may not see.
    """
    limited = limited_key(request)
    return key if limited is None else f"{limited.pk} {sha256(key)}"


def _fingerprint(url: str, body: Any) -> str:
    """A digest of the request. Equal JSON values give the same digest, however they are written."""
    return hashlib.sha256(json.dumps([url, body], sort_keys=True).encode()).hexdigest()


def _run(view: ApiViewSet, row: IdempotentReply, action: Callable[[], Response]) -> Response:
    """Run the action with the reservation. At the end the reply is stored or the reservation is released."""
    token = _reservation.set(row)
    try:
        response = _refusals_answered(view, action)
        if response.status_code < 500 and response.status_code not in NOT_KEPT:
            keep(response)
        return response
    finally:
        _reservation.reset(token)
        if row.status is None:
            replies.release(row)


def _refusals_answered(view: ApiViewSet, action: Callable[[], Response]) -> Response:
    """Answer refusals here, as REST framework would do a moment later, so that they are stored too."""
    try:
        return action()
    except _REFUSALS as refusal:
        return view.handle_exception(refusal)
