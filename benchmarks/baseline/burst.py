"""The least work that stores a request durably and lets a worker handle it: one row, one task, one
SELECT of the row.
"""

from __future__ import annotations

import json
import secrets

from celery import shared_task
from django.db import connection
from django.http import HttpRequest, JsonResponse

from benchmarks.recording import note

QUEUE = "baseline"
TABLE = "create table wish (id text primary key, persona text not null, tier text not null, at timestamptz not null)"


def accept(request: HttpRequest) -> JsonResponse:
    wanted = json.loads(request.body)
    wish_id = secrets.token_hex(12)
    with connection.cursor() as cursor:
        cursor.execute("insert into wish values (%s, %s, %s, now())", [wish_id, wanted["personaId"], wanted["tier"]])
    start.apply_async((wish_id,), queue=QUEUE)
    return JsonResponse({"agent": {"id": wish_id}})


@shared_task(name="baseline.start")
def start(wish_id: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("select persona, tier from wish where id = %s", [wish_id])
        cursor.fetchone()
    connection.close()
    note("deploy", wish_id)
