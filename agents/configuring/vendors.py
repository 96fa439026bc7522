"""A driver: asks a model provider once whether a new key is good."""

from __future__ import annotations

import logging

import requests
from django.conf import settings

from agents.engines.providers import PROVIDERS, base_url_of, upstream_url
from config import waiting
from config.errors import BadRequest
from config.operator_settings import operator_settings

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 5
USER_AGENT = "agentpods/1.0"


# HTTP statuses that say that the key is bad. Any other status, such as a 403 or an outage, proves nothing about the
# key.
REFUSED = {"google": {400, 401, 403}, "gemini": {400, 401, 403}, "xai": {400, 401}}
REFUSED_ELSE = {401}


def check_key(provider: str, key: str, *, name: str = "key") -> bool:
    """Whether the provider accepts the key. False when that is unknown: not asked, not reached, or no clear answer.

    A server of `LLM_BASE_URLS` may not have the address that is asked (404, 405); there the first answer of its model
    shows whether the key is good.

    Raises BadRequest naming the field when the provider clearly refuses the key.
    """
    known = PROVIDERS[provider]
    if not operator_settings.LLM_KEY_CHECK or known.check_path is None:
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
