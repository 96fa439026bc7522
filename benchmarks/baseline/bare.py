"""Views that do almost nothing."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from django.db import connection
from django.http import HttpRequest, HttpResponse


@cache
def _content() -> bytes:
    return Path(os.environ["BENCHMARK_STATIC"]).read_bytes()


def static(request: HttpRequest) -> HttpResponse:
    """The bytes of a file, which is read only once."""
    return HttpResponse(_content(), content_type="application/json")


def sentence(request: HttpRequest) -> HttpResponse:
    """The smallest page that a person can see."""
    return HttpResponse(b"<!DOCTYPE html><html lang=en><title>Bare</title><p>This page has one sentence.")


def unchanged(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=304)


def select_1(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("select 1")
        row = cursor.fetchone()
    return HttpResponse(b"%d" % row[0])
