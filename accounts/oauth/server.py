"""OAuth's endpoints, judged by Authlib. What is stored, and what a token is, is said here.

PKCE with S256 is required. There are no refresh tokens: an access token is a limited key with an end that the person
has chosen, and a person who revokes it ends it at once.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

from authlib.common.urls import add_params_to_uri
from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.oauth2.base import invalid_error_characters
from authlib.oauth2.rfc6749 import (
    AccessDeniedError,
    InvalidGrantError,
    InvalidRequestError,
    OAuth2Error,
    OAuth2Payload,
    OAuth2Request,
    UnauthorizedClientError,
    UnsupportedResponseTypeError,
)
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE, DeviceAuthorizationEndpoint, DeviceCodeGrant
from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from accounts.keys import KeyLimits
from accounts.models import User
from accounts.oauth import clients, issuing
from accounts.oauth.clients import AskingProgram
from accounts.oauth.issuing import CODE_LIFETIME, DEVICE_LIFETIME
from accounts.oauth.models import OAuthGrant
from accounts.scopes import Scope
from config.crypto import sha256
from config.errors import ServiceError

ISSUER_PATH = "/oauth"
MCP_PATH = "/oauth/mcp"
AUTHORIZE_PATH = "/oauth/authorize"
ACTIVATE_PATH = "/oauth/activate"
INTERVAL_SECONDS = 5
_S256 = re.compile(r"[A-Za-z0-9_-]{43}")
_MANY = {"resource"}  # what a request may have more than once


class WrongResource(OAuth2Error):  # type: ignore[misc]  # the library has no types
    error = "invalid_target"
    description = "resource: must be an address of this service"


class WrongResponseType(OAuth2Error):  # type: ignore[misc]
    error = "unsupported_response_type"
    description = "response_type: must be code"


class KeyGrant:
    """A token is a new key."""

    def issued(self, grant: OAuthGrant) -> dict[str, Any]:
        now = timezone.now()
        try:
            key, secret = issuing.issue(grant, now=now)
        except ServiceError as refusal:
            raise InvalidGrantError(refusal.message) from refusal
        token: dict[str, Any] = {"token_type": "Bearer", "access_token": secret, "scope": " ".join(key.scopes or ())}
        if key.expires_at is not None:
            token["expires_in"] = int((key.expires_at - now).total_seconds())
        return token


class CodeGrant(KeyGrant, AuthorizationCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
    limits: KeyLimits | None = None  # what the person allows, set by the page

    @staticmethod
    def validate_authorization_redirect_uri(request: OAuth2Request, client: AskingProgram) -> str:
        """Not repeated in the refusal, unlike Authlib's own: anybody may write there what our page would then say."""
        asked = request.payload.redirect_uri or client.get_default_redirect_uri()
        if asked is None or not client.check_redirect_uri(asked):
            raise InvalidRequestError("redirect_uri: must be one that the document of the program names")
        return str(asked)

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        """Store the person's yes under the code. Raises what keys.create raises."""
        now, client = timezone.now(), request.client
        if self.limits is None:
            raise AccessDeniedError
        grant = OAuthGrant(
            digest=sha256(code),
            client_id=client.client_id,
            client_name=client.name,
            scope=request.scope,
            redirect_uri=request.payload.redirect_uri or "",  # then the program need not name it for the key either
            code_challenge=request.payload.data["code_challenge"],
            expires_at=now + CODE_LIFETIME,
        )
        issuing.allow(grant, user=request.user, limits=self.limits, now=now)
        grant.save(force_insert=True)

    def query_authorization_code(self, code: str, client: AskingProgram) -> StoredCode | None:
        now = timezone.now()
        grant = issuing.find(code, client_id=client.client_id, is_device=False)
        if grant is None:
            return None
        if grant.key_id is not None:
            issuing.end_key(grant, now=now)
            return None
        return StoredCode(grant) if grant.expires_at > now else None

    def delete_authorization_code(self, authorization_code: StoredCode) -> None:
        """The row stays, so that a code that comes again is known."""

    def authenticate_user(self, authorization_code: StoredCode) -> User | None:
        user = authorization_code.grant.user
        return user if user and user.is_active else None

    def generate_token(self, **_: Any) -> dict[str, Any]:
        return self.issued(self.request.authorization_code.grant)


class StoredCode:
    """A grant, as Authlib asks about it."""

    code_challenge_method = "S256"

    def __init__(self, grant: OAuthGrant) -> None:
        self.grant = grant
        self.code_challenge = grant.code_challenge

    def get_redirect_uri(self) -> str:
        return self.grant.redirect_uri

    def get_scope(self) -> str:
        return self.grant.scope


class StrictChallenge(CodeChallenge):  # type: ignore[misc]
    """PKCE for everybody, with S256 alone."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ("S256",)

    def validate_code_challenge(self, grant: CodeGrant, redirect_uri: str) -> None:
        given = grant.request.payload.data
        if not given.get("code_challenge") or given.get("code_challenge_method") != "S256":
            raise InvalidRequestError("code_challenge: required, with code_challenge_method=S256")
        if not _S256.fullmatch(given["code_challenge"]):
            raise InvalidRequestError("code_challenge: must be the 43 characters of a SHA-256 in base64url")
        super().validate_code_challenge(grant, redirect_uri)


class OnDeviceGrant(KeyGrant, DeviceCodeGrant):  # type: ignore[misc]
    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def query_device_credential(self, device_code: str) -> StoredDevice:
        client_id = self.request.payload.client_id or ""
        grant = issuing.find(device_code, client_id=client_id, is_device=True)
        if grant is None:
            raise InvalidGrantError("device_code: not one that this program was given")
        return StoredDevice(grant)

    def query_user_grant(self, user_code: OAuthGrant) -> tuple[User, bool] | None:
        grant = user_code
        if grant.answered_at is None or grant.user is None:
            return None
        return grant.user, grant.limits is not None and grant.user.is_active

    def should_slow_down(self, credential: StoredDevice) -> bool:
        return credential.is_hasty(now=timezone.now())

    def generate_token(self, **_: Any) -> dict[str, Any]:
        return self.issued(self.request.credential.grant)


class StoredDevice:
    """A grant for a device, as Authlib asks about it."""

    def __init__(self, grant: OAuthGrant) -> None:
        self.grant = grant

    def get_client_id(self) -> str:
        return self.grant.client_id

    def get_scope(self) -> str:
        return self.grant.scope

    def get_user_code(self) -> OAuthGrant:
        return self.grant  # the code itself is not stored, and Authlib only hands this on

    def is_expired(self) -> bool:
        return self.grant.expires_at <= timezone.now()

    def is_hasty(self, *, now: datetime) -> bool:
        """Whether the device asks sooner than it was told to. Notes that it has asked."""
        before = self.grant.asked_at
        OAuthGrant.objects.filter(pk=self.grant.pk).update(asked_at=now)
        return before is not None and (now - before).total_seconds() < INTERVAL_SECONDS - 1


class DeviceEndpoint(DeviceAuthorizationEndpoint):  # type: ignore[misc]
    CLIENT_AUTH_METHODS = ("none",)
    EXPIRES_IN = int(DEVICE_LIFETIME.total_seconds())
    INTERVAL = INTERVAL_SECONDS

    def authenticate_client(self, request: OAuth2Request) -> AskingProgram:
        client: AskingProgram = super().authenticate_client(request)
        if not client.check_grant_type(DEVICE_CODE_GRANT_TYPE):
            raise UnauthorizedClientError("client_id: this program may not use device codes")
        return client

    def get_verification_uri(self) -> str:
        return f"{settings.BASE_URL}{ACTIVATE_PATH}"

    def save_device_credential(self, client_id: str, scope: str | None, data: dict[str, Any]) -> None:
        client = clients.known(client_id)
        if client is None:
            raise UnauthorizedClientError
        OAuthGrant.objects.create(
            digest=sha256(data["device_code"]),
            user_code_digest=sha256(data["user_code"]),
            client_id=client_id,
            client_name=client.name,
            scope=client.get_allowed_scope(scope),
            expires_at=timezone.now() + DEVICE_LIFETIME,
        )


class AskedParameters(OAuth2Payload):  # type: ignore[misc]
    """What a program asks: the query where it sends a person, and the form alone where it asks by itself."""

    def __init__(self, given: QueryDict) -> None:
        self._data, self._lists = given.dict(), dict(given.lists())

    @property
    def data(self) -> dict[str, Any]:
        return self._data

    @property
    def datalist(self) -> dict[str, list[Any]]:
        return self._lists


class OurRequest(OAuth2Request):  # type: ignore[misc]
    """Authlib refuses plain HTTP. In development there is no TLS, and in production a proxy ends it."""

    def __init__(self, request: HttpRequest) -> None:
        address = f"https://{request.get_host()}{request.path}"
        super().__init__(str(request.method), address, headers=request.headers)
        self._given = request.GET if request.path_info == AUTHORIZE_PATH else request.POST
        self.payload = AskedParameters(self._given)

    @property
    def form(self) -> QueryDict:
        return self._given


class OAuthServer(AuthorizationServer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(None, None)
        self.scopes_supported = [scope.value for scope in Scope]
        self.register_grant(CodeGrant, [StrictChallenge(required=True)])
        self.register_grant(OnDeviceGrant)
        self.register_endpoint(DeviceEndpoint)

    def query_client(self, client_id: str) -> AskingProgram | None:
        return clients.known(client_id)

    def save_token(self, token: dict[str, Any], request: OAuth2Request) -> None:
        """A token is a key, which is stored already."""

    def create_oauth2_request(self, request: Any) -> OAuth2Request:
        """Raises InvalidRequestError for what Authlib does not see or cannot tell, and WrongResource."""
        made = OurRequest(request)
        given = made.payload
        if any(len(values) > 1 for name, values in given.datalist.items() if name not in _MANY):
            raise InvalidRequestError("a parameter came more than once")
        if invalid_error_characters(given.response_type or ""):
            raise InvalidRequestError("response_type: has characters that it may not have")
        _refuse_other_resources(given.datalist.get("resource", []))
        return made

    def get_authorization_grant(self, request: OAuth2Request) -> CodeGrant:
        """Authlib's own refusal repeats what came instead of what may come."""
        try:
            grant: CodeGrant = super().get_authorization_grant(request)
        except UnsupportedResponseTypeError as refusal:
            raise WrongResponseType(redirect_uri=refusal.redirect_uri) from refusal
        return grant

    def send_signal(self, *_: Any, **__: Any) -> None:
        """Nobody listens."""


def _refuse_other_resources(asked: list[str]) -> None:
    """RFC 8707: a token is for this service alone. Raises WrongResource."""
    ours = settings.BASE_URL.rstrip("/")
    if any(one != ours and not one.startswith(f"{ours}/") for one in asked):
        raise WrongResource


server = OAuthServer()


def issuer() -> str:
    return f"{settings.BASE_URL}{ISSUER_PATH}"


def with_issuer(location: str) -> str:
    """RFC 9207: the answer says from whom it is."""
    return str(add_params_to_uri(location, [("iss", issuer())]))


def metadata() -> dict[str, Any]:
    """RFC 8414: where our endpoints are, and what they take."""
    return {
        "issuer": issuer(),
        "authorization_endpoint": f"{settings.BASE_URL}{AUTHORIZE_PATH}",
        "token_endpoint": f"{issuer()}/token",
        "device_authorization_endpoint": f"{issuer()}/device",
        "revocation_endpoint": f"{issuer()}/revoke",
        "response_types_supported": ["code"],
        "grant_types_supported": [clients.CODE_GRANT_TYPE, DEVICE_CODE_GRANT_TYPE],
        "scopes_supported": [scope.value for scope in Scope],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
        "service_documentation": f"{settings.BASE_URL}/guide/reference/oauth/",
    }


def resource_metadata() -> dict[str, Any]:
    """RFC 9728: who gives tokens for MCP at `/oauth/mcp`."""
    return {
        "resource": f"{settings.BASE_URL}{MCP_PATH}",
        "authorization_servers": [issuer()],
        "scopes_supported": [scope.value for scope in Scope],
        "bearer_methods_supported": ["header"],
        "resource_name": "agentpods",
    }


def json_of(error: OAuth2Error) -> tuple[int, bytes]:
    status, body, _ = error()
    return status, json.dumps(dict(body)).encode()
