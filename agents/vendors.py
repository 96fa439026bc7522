"""Asks a model provider once whether a new key is good. A driver: the only outbound call of the configuration rules."""

from __future__ import annotations

import logging

import requests
from django.conf import settings

from agents.engines.providers import PROVIDERS, base_url_of, upstream_url
from config import waiting
from config.errors import BadRequest

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 5
USER_AGENT = "agentpods/1.0"


# Statuses that say the key is bad; anything else, a 403 or an outage, proves nothing about it.
REFUSED = {"google": {400, 401, 403}, "gemini": {400, 401, 403}, "xai": {400, 401}}
REFUSED_ELSE = {401}


def check_key(provider: str, key: str, *, name: str = "key") -> bool:
    """Whether the provider takes the key; False where nobody can tell: not asked, not reached, no clear answer.

    A server of `LLM_BASE_URLS` may have nothing to ask (404, 405): the first answer of its model tells.

    Raises BadRequest naming the field when the provider definitely refuses it.
    """
    known = PROVIDERS[provider]
    if not settings.LLM_KEY_CHECK or known.check_path is None:
        return False
    path, _, query = known.check_path.partition("?")
    url = upstream_url(provider, base_url_of(provider, settings.LLM_BASE_URLS), path)
    headers = {"User-Agent": USER_AGENT, **known.key_headers(key)}
    waiting.release_connection()
    try:
        with requests.Session() as session:
            session.trust_env = False
            answer = session.get(
                url, params=query, headers=headers, timeout=TIMEOUT_SECONDS, allow_redirects=False, stream=True
            )
            answer.close()
    except requests.RequestException as error:
        log.info("provider not reached, key accepted", extra={"provider": provider, "error": type(error).__name__})
        return False
    if answer.status_code in REFUSED.get(provider, REFUSED_ELSE):
        raise BadRequest(f"{name}: {provider} refused this key (HTTP {answer.status_code})")
    return 200 <= answer.status_code < 300
