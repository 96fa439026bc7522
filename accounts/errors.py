"""The refusals of this app."""

from __future__ import annotations

from config.errors import BadRequest, Conflict, InvalidCode, NotFound, RateLimited, Unauthorized
from config.operator_settings import operator_settings


class NoCredential(Unauthorized):
    message = "Authorization: send `Bearer <token>` with an API key, or with the token of POST /auth/verify"


class MalformedCredential(Unauthorized):
    message = "Authorization: must be the word Bearer, one space and the token"


class InvalidKey(Unauthorized):
    message = "Invalid or revoked API key"


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


class BadCursor(BadRequest):
    message = "cursor: must be the one from the Link header of the previous page"
