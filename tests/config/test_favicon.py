"""Files that browsers request at the root without a link."""

from __future__ import annotations

import struct

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext


def test_the_icon_is_a_picture_that_is_kept_and_needs_no_database(client: Client, db: None) -> None:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get("/favicon.ico")
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]  # a file
    reserved, kind, pictures = struct.unpack("<HHH", body[:6])
    assert (answer.status_code, reserved, kind, pictures) == (200, 0, 1, 3)
    assert answer["Content-Type"] in {"image/x-icon", "image/vnd.microsoft.icon"}
    assert "max-age=" in answer["Cache-Control"]
    assert len(queries) == 0
    again = client.get("/favicon.ico", headers={"If-Modified-Since": answer["Last-Modified"]})
    assert again.status_code == 304
