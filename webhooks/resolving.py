"""Name resolution with a bound on time and threads.

`getaddrinfo` cannot be cancelled: a name server that never answers holds its thread for half a minute. So lookups have
threads of their own, and one that finds none free counts as unanswered instead of holding up the others.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from concurrent.futures import ThreadPoolExecutor

from webhooks.networks import Address

log = logging.getLogger(__name__)

THREADS = 16

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve")


def lookup(host: str, *, seconds: float) -> list[Address]:
    """The addresses of a name; none if there is no answer in time."""
    answer = _threads.submit(resolve, host)
    try:
        return answer.result(seconds)
    except (OSError, TimeoutError) as error:
        answer.cancel()
        log.info("no answer for the receiver's name %s: %s", host, type(error).__name__)
        return []


def resolve(host: str) -> list[Address]:
    """Ask the system's resolver and wait for it. Raises OSError when the name has no address."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise OSError("not a name that DNS can hold") from error
    return [ipaddress.ip_address(str(sockaddr[0]).partition("%")[0]) for *_, sockaddr in found]
