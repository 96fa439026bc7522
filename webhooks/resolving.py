"""Name resolution with limits on time and threads. No answer is cached.

It asks the system's resolver, or the name servers of `WEBHOOK_NAMESERVERS`. Set public ones there: a cluster's own name
servers would also answer internal names. `getaddrinfo` cannot be cancelled: a name server that never answers blocks its
thread for half a minute. So lookups have their own threads. A lookup without a free thread counts as unanswered and
does not delay others.
"""

from __future__ import annotations

import ipaddress
import logging
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from dns.exception import DNSException
from dns.nameserver import Do53Nameserver
from dns.resolver import Resolver

from config.outbound import ask_system
from config.public_networks import Address

log = logging.getLogger(__name__)

THREADS = 16
NAME_SERVER_SECONDS = 5.0

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="resolve")


def lookup(host: str, *, seconds: float) -> list[Address]:
    """The addresses of a name; an empty list if there is no answer within `seconds`."""
    answer = _threads.submit(resolve, host)
    try:
        return answer.result(seconds)
    except (OSError, TimeoutError) as error:
        answer.cancel()
        log.info("no answer for the receiver's name %s: %s", host, type(error).__name__)
        return []


def resolve(host: str) -> list[Address]:
    """Ask once and wait for the answer. Raises OSError if the name has no address."""
    return _ask_name_servers(host) if settings.WEBHOOK_NAMESERVERS else ask_system(host)


def _ask_name_servers(host: str) -> list[Address]:
    """Ask the name servers, one question for each kind of address. Raises OSError."""
    resolver = Resolver(configure=False)
    resolver.nameservers = [Do53Nameserver(address, port) for address, port in settings.WEBHOOK_NAMESERVERS]
    resolver.lifetime = NAME_SERVER_SECONDS
    try:
        return [ipaddress.ip_address(one) for one in resolver.resolve_name(host, search=False).addresses()]
    except DNSException as error:
        raise OSError(f"the name servers gave no address: {type(error).__name__}") from error
