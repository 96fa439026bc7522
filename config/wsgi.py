"""The WSGI application that web serves."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from config.parsing import MAX_BODY_BYTES  # it asks for the settings named above

_READ_BYTES = 65_536


class WholeBodies:
    """Django reads as much as Content-Length says, so nothing of a body that comes in chunks without one.

    Such a body is read here, up to one byte more than the API takes, and passed on with its length.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("HTTP_TRANSFER_ENCODING") and not environ.get("CONTENT_LENGTH"):
            body = _read(environ["wsgi.input"])
            environ = environ | {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        return self.application(environ, start_response)


def _read(stream: Any) -> bytes:
    body = bytearray()
    while len(body) <= MAX_BODY_BYTES and (piece := stream.read(min(_READ_BYTES, MAX_BODY_BYTES + 1 - len(body)))):
        body += piece
    return bytes(body)


application = WholeBodies(get_wsgi_application())
