"""Deliveries as a tutorial of Celery would send them: one task for each, which POSTs signed JSON with requests.

It runs in the environment of the peers and imports nothing of ours: `celery -A plain_celery worker`. As a program it
sends a task for each line of its input (URL and event id), all of them when a line is empty.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from typing import Any

import requests
from celery import Celery

SECRET = b"a secret of 32 bytes, as ours are"
BODY = '{"id":"evt","type":"agent.running","agent":{},"data":{"from":"provisioning","to":"running"}}'.ljust(600)
TIMEOUT_SECONDS = 10
RETRY_SECONDS = (10, 60)

app = Celery("plain", broker=os.environ["PLAIN_BROKER"])


@app.task(bind=True, acks_late=True, max_retries=len(RETRY_SECONDS), name="deliver")
def deliver(self: Any, url: str, event: str, body: str) -> None:
    signature = hmac.new(SECRET, body.encode(), hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "X-Service-Delivery": event,
        "X-Service-Signature": f"sha256={signature}",
    }
    try:
        requests.post(url, data=body, headers=headers, timeout=TIMEOUT_SECONDS).raise_for_status()
    except requests.RequestException as error:
        tries = self.request.retries
        if tries == len(RETRY_SECONDS):
            raise
        raise self.retry(exc=error, countdown=RETRY_SECONDS[tries]) from error


def main() -> None:
    waiting: list[list[str]] = []
    for line in sys.stdin:
        if line.strip():
            waiting.append(line.split())
            continue
        for url, event in waiting:
            deliver.delay(url, event, BODY)
        waiting.clear()


if __name__ == "__main__":
    main()
