"""Asks the provider who a person is: authorization code with PKCE, state and nonce; the signed answer is checked."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from django.conf import settings
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests import RequestException

from accounts.oidc import http
from config.errors import Unauthorized, Unavailable

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"]  # only asymmetric ones
LEEWAY_SECONDS = 60
LIVES_SECONDS = 600  # from the start to the answer
BACK = "/admin/login/provider/back/"
LONGEST = 4_000  # characters of a code


class NotBelieved(Unauthorized):
    """What the browser brought back, or what the provider said, proves nothing. `why` is for the log."""

    message = "The provider's answer was refused. Sign in again; if it stays so, tell an owner of this platform."

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class NotReached(Unavailable):
    def __init__(self, why: str) -> None:
        super().__init__("The provider does not answer. Try again in a minute, or use your password.", retry_after=60)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A sign-in that this browser has begun. Kept in its session, and used once."""

    state: str
    nonce: str
    verifier: str
    next: str
    at: int
    again: bool  # the provider shall ask the person even if they are signed in there

    @classmethod
    def now(cls, *, target: str, again: bool) -> Self:
        state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
        return cls(state=state, nonce=nonce, verifier=verifier, next=target, at=int(time.time()), again=again)

    @classmethod
    def of(cls, kept: object) -> Self:
        """What `kept()` wrote. Raises NotBelieved if this browser has begun nothing."""
        if not isinstance(kept, dict):
            raise NotBelieved("no sign-in was begun in this browser")
        return cls(**kept)

    def kept(self) -> dict[str, Any]:
        return asdict(self)


def is_on() -> bool:
    return bool(settings.OIDC_ISSUER and settings.OIDC_CLIENT_ID)


def name() -> str:
    """What the login page calls the provider."""
    return settings.OIDC_NAME or urlsplit(settings.OIDC_ISSUER).hostname or ""


def address(started: Started) -> str:
    """Where the browser goes. Raises NotReached, NotBelieved."""
    found = _described()
    more = {"prompt": "login", "max_age": "0"} if started.again else {}
    with _client() as client:
        at, _ = client.create_authorization_url(
            found["authorization_endpoint"],
            state=started.state,
            nonce=started.nonce,
            code_verifier=started.verifier,
            **more,
        )
    return str(at)


def claims(started: Started, given: Mapping[str, str]) -> dict[str, Any]:
    """What the provider says about the person who came back with these parameters. Raises NotBelieved, NotReached."""
    if not secrets.compare_digest(started.state.encode(), given.get("state", "").encode()):
        raise NotBelieved("another state")
    if not 0 <= time.time() - started.at <= LIVES_SECONDS:
        raise NotBelieved("too late")
    if given.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:  # RFC 9207
        raise NotBelieved("the answer is of another issuer")
    if "error" in given or not 0 < len(given.get("code", "")) <= LONGEST:
        raise NotBelieved(f"no code: {given.get('error', '')[:100]}")
    found = _described()
    token = _token(found, started, given["code"])
    told = _checked(found, started, token)
    return _completed(found, told, str(token.get("access_token", "")))


def _described() -> dict[str, Any]:
    """The provider's own description of itself. Asked anew each time, so new keys and addresses hold at once."""
    try:
        found = http.object_at(f"{settings.OIDC_ISSUER.rstrip('/')}/.well-known/openid-configuration")
    except RequestException as error:
        raise NotReached(type(error).__name__) from error
    if found.get("issuer") != settings.OIDC_ISSUER:
        raise NotBelieved("it describes another issuer")
    needed = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    if not all(http.is_safe(str(found.get(one, ""))) for one in needed):
        raise NotBelieved("its description lacks an address with https")
    return found


def _client() -> OAuth2Session:
    client = OAuth2Session(
        settings.OIDC_CLIENT_ID,
        settings.OIDC_CLIENT_SECRET or None,
        scope=settings.OIDC_SCOPES,
        redirect_uri=f"{settings.BASE_URL}{BACK}",
        code_challenge_method="S256",
    )
    http.bound(client)
    return client


def _token(found: dict[str, Any], started: Started, code: str) -> dict[str, Any]:
    with _client() as client:
        methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        if settings.OIDC_CLIENT_SECRET and "client_secret_basic" not in methods:
            client.token_endpoint_auth_method = "client_secret_post"  # noqa: S105 # the name of a method
        try:
            token = client.fetch_token(found["token_endpoint"], code=code, code_verifier=started.verifier)
        except OAuthError as error:
            raise NotBelieved(f"no token: {str(error.error)[:100]}") from error
        except RequestException as error:
            raise NotReached(type(error).__name__) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise NotBelieved("a token that is no JSON object") from error
    if not isinstance(token, dict) or not isinstance(token.get("id_token"), str):
        raise NotBelieved("no ID token")
    return dict(token)


def _checked(found: dict[str, Any], started: Started, token: dict[str, Any]) -> dict[str, Any]:
    """The claims of the ID token, if the provider signed it, for us, for this sign-in and just now."""
    try:
        keys = KeySet.import_key_set(http.object_at(found["jwks_uri"]))  # type: ignore[arg-type]
        signed = jwt.decode(token["id_token"], keys, algorithms=ALGORITHMS)
        told = CodeIDToken(
            signed.claims,
            signed.header,
            options={
                "iss": {"essential": True, "value": settings.OIDC_ISSUER},
                "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
            },
            params={
                "nonce": started.nonce,
                "client_id": settings.OIDC_CLIENT_ID,
                "access_token": token.get("access_token"),
                "max_age": started.again,
            },
        )
        told.validate(leeway=LEEWAY_SECONDS)
    except RequestException as error:
        raise NotReached(type(error).__name__) from error
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotBelieved(f"the ID token: {type(error).__name__} {str(error)[:100]}") from error
    if not isinstance(told.get("sub"), str) or not 0 < len(told["sub"]) <= 255:
        raise NotBelieved("no subject")
    if started.again and told["auth_time"] < started.at - LEEWAY_SECONDS:
        raise NotBelieved("the person was not asked again")
    return dict(told)


def _completed(found: dict[str, Any], told: dict[str, Any], access_token: str) -> dict[str, Any]:
    """With the claims that the provider gives only at its userinfo endpoint. They must be of the same person."""
    wanted = {"email", settings.OIDC_GROUPS_CLAIM}
    at = str(found.get("userinfo_endpoint", ""))
    if wanted <= told.keys() or not access_token or not http.is_safe(at):
        return told
    try:
        more = http.object_at(at, headers={"Authorization": f"Bearer {access_token}"})
    except RequestException as error:
        raise NotReached(type(error).__name__) from error
    if more.get("sub") != told["sub"]:
        raise NotBelieved("userinfo of another person")
    return {**more, **told}
