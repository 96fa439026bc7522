"""Writes one complete row from the request with one autocommit INSERT: no validation, no authentication."""

from __future__ import annotations

import json

from django.db import connection
from django.http import HttpRequest, HttpResponse


def insert(request: HttpRequest) -> HttpResponse:
    values = json.loads(request.body)
    columns = ", ".join(f'"{name}"' for name in values)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO agents_agent ({columns}) VALUES ({', '.join(['%s'] * len(values))})",
            list(values.values()),
        )
    return HttpResponse(b"{}", content_type="application/json")
