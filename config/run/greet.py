"""Wait until the web answers, then tell the operator where everything is and how to sign in. Standard library alone."""

from __future__ import annotations

import http.client
import os
import sys
import time

from config import settings

WAIT_SECONDS = 120
POLL_SECONDS = 0.05

TEXT = """
Agentpods {version} is up after {seconds:.1f} s.

  API      {base}           docs: {base}/docs   schema: {base}/openapi.json
  Pods     http://<slug>.{domain}:{router}
  Admin    {base}/admin/    {operator}
  State    {home}   (logs: {home}/logs)

Sign in (development shows the code in the answer):
  curl -s {base}/auth/request -H 'Content-Type: application/json' -d '{{"email": "you@example.com"}}'
  curl -s {base}/auth/verify -H 'Content-Type: application/json' -d '{{"email": "you@example.com", "code": "DEVCODE"}}'

See it all work: make demo      Stop, pods included: Ctrl-C
"""


def main() -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not _answers():
        if time.monotonic() > deadline:
            sys.exit(f"the web does not answer on port {settings.PORT}; see {settings.AGENTPODS_HOME}/logs/web.log")
        time.sleep(POLL_SECONDS)
    started = float(os.environ.get("AGENTPODS_STARTED", time.time()))
    print(  # noqa: T201 # what it is for
        TEXT.format(
            version=settings.VERSION,
            seconds=time.time() - started,
            base=settings.BASE_URL,
            domain=settings.PLATFORM_DOMAIN,
            router=settings.ROUTER_PORT,
            operator=_operator(),
            home=settings.AGENTPODS_HOME,
        )
    )


def _answers() -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", settings.PORT, timeout=5)
    try:
        connection.request("GET", "/health", headers={"X-Forwarded-Proto": "https"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _operator() -> str:
    try:
        user, password = (settings.AGENTPODS_HOME / "operator.txt").read_text(encoding="utf-8").split()[:2]
    except (OSError, ValueError):
        return ""
    return f"user {user}   password {password}"


if __name__ == "__main__":
    main()
