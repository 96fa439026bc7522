"""The refusals of this app."""

from __future__ import annotations

from datetime import UTC, datetime

from accounts.scopes import CredentialLimits, Need
from config.errors import BadRequest, Conflict, Forbidden, InvalidCode, NotFound, RateLimited, Unauthorized
from config.operator_settings import operator_settings

_NEW_KEY = "a person makes another key on the account's page, or with POST /keys and a session token"
_KEYS_WITH = {
    Need.READ: 'the scope "read"',
    Need.OPERATE: 'the scope "operate"',
    Need.PAY: 'the scope "pay"',
    Need.FULL: "a full key or a session token",
    Need.SESSION: "the session token of POST /auth/verify",
}


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


class NoCredential(Unauthorized):
    message = "Authorization: send `Bearer <token>` with an API key, or with the token of POST /auth/verify"


class MalformedCredential(Unauthorized):
    message = "Authorization: must be the word Bearer, one space and the token"


class InvalidKey(Unauthorized):
    message = "Invalid or revoked API key"


class ExpiredKey(InvalidKey):
    """Only for who has the key's secret: others must not learn that there was such a key."""

    def __init__(self, expires_at: datetime) -> None:
        super().__init__(f"Authorization: this API key expired at {_utc(expires_at)}; {_NEW_KEY}")


class InvalidSession(Unauthorized):
    message = "Invalid or expired session token: sign in again with POST /auth/request"


class AccountSuspended(Unauthorized):
    def __init__(self) -> None:
        super().__init__(f"this account is suspended: write to {operator_settings.SUPPORT_EMAIL}")


class AccountClosed(Conflict):
    message = "this account was deleted by its owner: it cannot be opened again"


class SignUpsClosed(Unauthorized):
    message = "email: no new accounts are possible at the moment; people who have an account can sign in"


class NoLiveCode(Unauthorized):
    message = "code: this e-mail has no valid code: it has expired or was used; get a new one with POST /auth/request"


class WrongCode(InvalidCode):
    message = "code: these are not the digits of the newest code mailed to this e-mail"


class TooManyWrongTries(RateLimited):
    def __init__(self, *, retry_after: int) -> None:
        super().__init__(
            "code: too many wrong codes came from your address; get a new code with POST /auth/request,"
            f" or try again in {retry_after} s",
            retry_after=retry_after,
        )


class TooManyStrangers(RateLimited):
    def __init__(self, *, retry_after: int) -> None:
        super().__init__(
            "code: too many wrong codes came from addresses that had not asked for one; get a code of your own with"
            f" POST /auth/request from where you are, or try again in {retry_after} s",
            retry_after=retry_after,
        )


class NoSuchKey(NotFound):
    message = "id: you have no such API key; GET /keys lists yours"


class NoSuchSession(NotFound):
    message = "id: you have no such session"


class TooManyKeys(BadRequest):
    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"keys: {count} of at most {most} live API keys exist; revoke one first (GET /keys, DELETE /keys/{{id}})"
        )
        self.most = most


class ScopeMissing(Forbidden):
    def __init__(self, need: Need, limits: CredentialLimits) -> None:
        has = ", ".join(sorted(limits.scopes))
        super().__init__(
            f"scope: this call needs {_KEYS_WITH[need]}, and your key has {has}; {_NEW_KEY}",
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{need}"'},
        )


class OneAgentOnly(Forbidden):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"scope: your key is for the agent {agent_id} alone, and this call is about more; {_NEW_KEY}")


class WrongLimit(BadRequest):
    """CredentialLimits that no key can have."""


class LimitWithoutScopes(WrongLimit):
    def __init__(self, field: str) -> None:
        super().__init__(f"{field}: a full key has no such limit; name the key's scopes too (read, operate, pay)")


class LimitWithoutPay(WrongLimit):
    message = 'spendLimitUsd: a key without the scope "pay" spends nothing; leave it out or add the scope'


class LimitWithoutOperate(WrongLimit):
    message = (
        'usdPerDay, usdPerMonth: a key without the scope "operate" starts no turns of agents; leave them out, or make'
        " a key with the scope"
    )


class ExpiresInThePast(WrongLimit):
    def __init__(self, expires_at: datetime, *, now: datetime) -> None:
        super().__init__(f"expiresAt: {_utc(expires_at)} is not in the future: it is {_utc(now)}")


class UnknownAgentOfKey(WrongLimit):
    message = "agentId: you have no such agent; GET /agents lists yours"


class BadCursor(BadRequest):
    message = "cursor: must be the one from the Link header of the previous page"
