"""Exit codes, and the errors that have them."""

from __future__ import annotations

from enum import IntEnum

from agentpods import errors


class Exit(IntEnum):
    """What a script can tell apart."""

    REFUSED = 1  # the service refused it, or an error that has no code of its own
    USAGE = 2  # wrong options, or a question that could not be asked
    CREDENTIAL = 3  # no key, a wrong one, or one that may not do this
    NOT_FOUND = 4
    CONFLICT = 5  # the state does not allow it now
    UNAVAILABLE = 6  # no answer, too slow, too busy, or a fault of the service: try again
    NOT_SETTLED = 7  # the agent did not come to the status that was waited for
    INTERRUPTED = 130


_OF = [
    ((errors.UnauthorizedError, errors.ForbiddenError), Exit.CREDENTIAL),
    ((errors.NotFoundError,), Exit.NOT_FOUND),
    ((errors.ConflictError,), Exit.CONFLICT),
    ((errors.ServerError, errors.RateLimitedError, errors.NoAnswerError, errors.StreamCutError), Exit.UNAVAILABLE),
    ((errors.UnexpectedAnswerError,), Exit.UNAVAILABLE),
    ((errors.NotSettledError,), Exit.NOT_SETTLED),
]


def of(error: Exception) -> Exit:
    return next((code for kinds, code in _OF if isinstance(error, kinds)), Exit.REFUSED)
