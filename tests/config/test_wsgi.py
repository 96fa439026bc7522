"""Bodies in chunks, whose length nobody says beforehand, reach the views whole."""

from __future__ import annotations

import io
import json
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest

from config.parsing import MAX_BODY_BYTES
from config.wsgi import application

# A request begins with a look at the thread's database connection, which an earlier test may have left open.
pytestmark = pytest.mark.django_db


def post(body: bytes, **environ: str) -> tuple[int, str]:
    request: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/auth/verify",
        "CONTENT_TYPE": "application/json",
    }
    setup_testing_defaults(request)
    request |= {"wsgi.input": io.BytesIO(body), **environ}
    answered: list[str] = []

    def start(status: str, *_: object) -> Any:
        answered.append(status)

    said = b"".join(application(request, start))
    return int(answered[0].split()[0]), json.loads(said)["message"]


@pytest.mark.parametrize("framing", [{"HTTP_TRANSFER_ENCODING": "chunked"}, {"CONTENT_LENGTH": "12"}])
def test_a_body_is_read_however_its_end_is_told(framing: dict[str, str]) -> None:
    assert post(b'{"email": 5}', **framing) == (400, "email: must be a string, not a number")


def test_a_chunked_body_has_the_same_limit() -> None:
    assert post(b" " * (MAX_BODY_BYTES + 2), HTTP_TRANSFER_ENCODING="chunked")[0] == 413
