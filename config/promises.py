"""Answers of the API that wait for another program without a thread. Their status is known only after the wait.

    return promised(self, request, promise, end=turn.leave)

`promise` is an asynchronous context manager that gives the answer's Beginning. What it raises becomes the error answer
of the call, as if the view had raised it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.log import log_response
from rest_framework.request import Request

from config import callers, help_links
from config.api import ApiViewSet
from config.json_answers import QuickJsonRenderer
from config.refusals import exception_handler
from config.streams import EVENT_STREAM, Beginning, Pieces, Promise, PromisedAnswer, PromiseHere

_JSON = {"Content-Type": "application/json"}
_STREAM = {"Content-Type": EVENT_STREAM, "Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def whole(body: Any, *, headers: Mapping[str, str] | None = None) -> Beginning:
    """A body that is there at once."""
    return Beginning(200, QuickJsonRenderer().render(body), {**_JSON, **(headers or {})})


def stream(pieces: Pieces) -> Beginning:
    """Server-sent events."""
    return Beginning(200, headers=_STREAM, rest=pieces)


def promised(view: ApiViewSet, request: Request, promise: Promise, *, end: Callable[[], None]) -> HttpResponseBase:
    """The answer of this promise. `end` is called once, when nothing follows any more."""
    if callers.caller.get() is None:
        return _here(promise, end)
    answer = PromisedAnswer(promise, refused=partial(_refused, help_links.of_call(view, request)), end=end)
    answer.when_known(partial(_log, answer, request.path))
    return answer


def _here(promise: Promise, end: Callable[[], None]) -> HttpResponseBase:
    here = PromiseHere(promise, end=end)
    status, headers = here.beginning.status, here.beginning.headers
    if here.beginning.rest is not None:
        return StreamingHttpResponse(here, status=status, headers=headers)
    here.close()
    return HttpResponse(here.beginning.body, status=status, headers=headers)


def _refused(link: str, error: Exception) -> Beginning:
    answer = exception_handler(error, {})
    headers = {"Link": link, **answer.headers, **_JSON}
    return Beginning(answer.status_code, QuickJsonRenderer().render(answer.data), headers)


def _log(answer: PromisedAnswer, path: str) -> None:
    """Write the line that Django writes of an answer which a view gives at once."""
    if answer.status_code >= 400:
        log_response("%s: %s", answer.reason_phrase, path, response=cast("Any", answer))
