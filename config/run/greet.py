"""Waits until the web answers, then prints all addresses and how to sign in. Standard library only."""

from __future__ import annotations

import http.client
import os
import sys
import time

from config import settings
from config.run import ports

WAIT_SECONDS = 120
WORD_SECONDS = 10
POLL_SECONDS = 0.05

TEXT = """
Agentpods {version} is up after {seconds:.1f} s.

  Pages    {base}/          the personas, and what they cost
  Sign in  {base}/sign-in   the code: {mail}
  API      {base}/docs      schema: {base}/openapi.json
  Admin    {base}/admin/    {operator}
  Status   {base}/status    what is late or down
  Pods     {pods}
  State    {home}   (logs: {home}/logs)

Sign in from a program (development shows the code in the answer), then talk to an agent: the guide, {base}/guide
  curl -s {base}/auth/request -H 'Content-Type: application/json' -d '{{"email": "you@example.com"}}'

See it all work: {demo}      Stop, pods included: Ctrl-C
"""


def main() -> None:
    deadline, next_word = time.monotonic() + WAIT_SECONDS, time.monotonic() + WORD_SECONDS
    log = settings.AGENTPODS_HOME / "logs" / "web.log"
    while not _answers():
        if time.monotonic() > next_word:
            _say(f"Starting: the web does not answer yet on port {settings.PORT}; its log is {log}")
            next_word += WORD_SECONDS
        if time.monotonic() > deadline:
            _say(f"The web does not answer on port {settings.PORT}: see {log}")
            sys.exit(1)
        time.sleep(POLL_SECONDS)
    started = float(os.environ.get("AGENTPODS_STARTED", time.time()))
    _say(
        TEXT.format(
            version=settings.VERSION,
            seconds=time.time() - started,
            base=settings.BASE_URL,
            pods=_pods(),
            operator=_operator(),
            home=settings.AGENTPODS_HOME,
            mail=_mail(),
            demo=_demo(),
        )
    )


def _pods() -> str:
    """The address of an agent, and where its certificate comes from."""
    if settings.TLS != "auto":
        return f"http://<slug>.{settings.PLATFORM_DOMAIN}:{settings.ROUTER_PORT}"
    port = "" if settings.HTTPS_PORT == 443 else f":{settings.HTTPS_PORT}"
    return f"https://<slug>.{settings.PLATFORM_DOMAIN}{port}   (certificates: {settings.ACME_DIRECTORY})"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 # printing is its purpose


def _answers() -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", settings.PORT, timeout=5)
    try:
        connection.request("GET", "/health", headers={"X-Forwarded-Proto": "https"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _mail() -> str:
    if settings.EMAIL_BACKEND.endswith("console.EmailBackend"):
        return "in the mail that is printed here"
    return f"in a mail by way of {settings.EMAIL_HOST}:{settings.EMAIL_PORT}"


def _demo() -> str:
    """`make demo` with the settings that it needs to find this service."""
    if f"http://127.0.0.1:{settings.PORT}" != settings.BASE_URL:
        return f"make demo BASE_URL={settings.BASE_URL}"
    return "make demo" if settings.PORT == ports.DEFAULT_PORT else f"make demo PORT={settings.PORT}"


def _operator() -> str:
    try:
        user, password = (settings.AGENTPODS_HOME / "operator.txt").read_text(encoding="utf-8").split()[:2]
    except (OSError, ValueError):
        return ""
    return f"user {user}   password {password}"


if __name__ == "__main__":
    main()
