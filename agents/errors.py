"""The refusals of the agents' rules, one small class each. Messages name the field and the next call."""

from __future__ import annotations

from datetime import datetime

from config import links
from config.errors import BadRequest, Conflict, NotFound, PreconditionFailed, Unavailable
from config.operator_settings import operator_settings

CLOSED_SECONDS = 300  # when a client may ask again, if an operator has closed creation or the platform has no room


class NoSuchAgent(NotFound):
    message = "no such agent: GET /agents lists yours"


class AgentWasChanged(PreconditionFailed):
    message = "If-Match: the agent was changed since you read it; GET /agents/{id} has it with its present ETag"


class NoSuchEgressSecret(NotFound):
    message = "no such secret: GET /agents/{id}/egress lists them"


class UnknownLogCursor(BadRequest):
    message = "after: not a cursor of this log; leave it out for the newest lines"


class ForeignLogCursor(BadRequest):
    message = "after: a cursor of another agent's log; leave it out for the newest lines"


class FreePodCapReached(BadRequest):
    def __init__(self, count: int, cap: int) -> None:
        super().__init__(
            f"agents: {count} of at most {cap} free agents exist; delete one (DELETE /agents/{{id}}) or pay for one"
        )


class TrialsUsedUp(BadRequest):
    """`again` is when the next trial may begin. `payable` is the id of an agent that no longer counts once somebody
    pays for it."""

    def __init__(self, *, limit: int, days: int, again: datetime, payable: str | None) -> None:
        self.again = again
        way = ""
        if payable:
            way = f", or pay for an agent you have ({renew_url(payable)}): a paid one does not count"
        elif operator_settings.SUPPORT_EMAIL:
            way = f", or write to {operator_settings.SUPPORT_EMAIL}: you have no agent that could be paid for"
        super().__init__(
            f"agents: your mailbox has had {limit} free trials in {days} days, deleted agents included;"
            f" wait until {again:%Y-%m-%dT%H:%M:%SZ}{way}"
        )


class DomainTaken(Conflict):
    """`value` is the text of the TXT record by which the caller's account proves that it owns the name."""

    def __init__(self, domain: str, *, value: str) -> None:
        super().__init__(
            f"domain: {domain} is already in use by another agent, or was until lately; if it is yours, set the TXT"
            f" record _agentpods.{domain} to {value} and ask again"
        )


class YourOtherAgent(Conflict):
    def __init__(self, domain: str, agent_id: str) -> None:
        super().__init__(
            f"domain: {domain} is already in use by your agent {agent_id}; DELETE /agents/{agent_id}/domain frees it"
        )


class TooManyDomains(BadRequest):
    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"domain: your account has released {count} names in the last 30 days, which are still kept for it;"
            " take one of these, or wait"
        )


class NeedsDomain(Conflict):
    def __init__(self, engine: str) -> None:
        super().__init__(f"domain: {engine} needs one; PUT /agents/{{id}}/domain gives the agent another")


class WrongState(Conflict):
    def __init__(self, verb: str, status: str, hint: str) -> None:
        super().__init__(f"{verb}: not possible while the agent is {status}; {hint}")


class NoSuchServer(BadRequest):
    def __init__(self, name: str) -> None:
        super().__init__(f"name: the agent has no MCP server {name!r}; PUT /agents/{{id}}/tools sets them")


class ServerOfTheEngine(Conflict):
    def __init__(self, name: str) -> None:
        super().__init__(f"name: {name!r} is started by the engine itself, so only the engine can use it")


class NotEntitled(Conflict):
    def __init__(self, agent_id: str) -> None:
        url = renew_url(agent_id)
        super().__init__(
            f"the free time of this agent has ended; pay at {url}", headers={"Link": f'<{url}>; rel="payment"'}
        )


class LargerOnlyPaid(Conflict):
    def __init__(self, agent_id: str, tier: str) -> None:
        url = renew_url(agent_id)
        super().__init__(
            f"tier: {tier!r} is larger, and the free time of this agent has ended; pay for it at {url}",
            headers={"Link": f'<{url}>; rel="payment"'},
        )


class OwnerSuspended(Conflict):
    message = "the account of this agent is suspended: an operator restores it in the admin"


class AboveTrialTier(BadRequest):
    def __init__(self, tier: str, highest: str) -> None:
        super().__init__(
            f"tier: {tier!r} is more than an unpaid agent may have; at most {highest!r} until it is paid for"
            " (POST /subscriptions)"
        )


class CreatesClosed(Unavailable):
    def __init__(self) -> None:
        super().__init__(
            "agents: none can be created at the moment; existing ones are not affected", retry_after=CLOSED_SECONDS
        )


class NoFreePlaceLeft(Unavailable):
    def __init__(self) -> None:
        super().__init__(
            "agents: all free places of the platform are taken; try again later, or pay for an agent you have",
            retry_after=CLOSED_SECONDS,
        )


class MemoryUnreadable(Conflict):
    def __init__(self, pod: str, hint: str) -> None:
        super().__init__(f"memory: {pod}, and there is no backup of it to read; {hint}")
        self._pod, self._hint = pod, hint

    def with_backup(self, name: str, why: str) -> Conflict:
        """The same refusal, when the newest backup cannot be read either."""
        return Conflict(f"memory: {self._pod}, and backup {name} cannot be read ({why}); {self._hint}")


class NoSuchBackup(NotFound):
    def __init__(self, agent_id: str) -> None:
        super().__init__(f"name: no such backup: GET /agents/{agent_id}/backups lists them")


class BackupInUse(Conflict):
    message = "name: the agent is being restored from this backup; wait for running or failed"


class BackupsAreOff(Conflict):
    def __init__(self, reason: str) -> None:
        super().__init__(f"backups: none are made here ({reason})")


class BackupFailed(Unavailable):
    def __init__(self, reason: str) -> None:
        super().__init__(f"backups: it failed ({reason}); ask again for another try", retry_after=10)


class BackupTakesLong(Unavailable):
    def __init__(self, agent_id: str) -> None:
        super().__init__(
            f"backups: it is still running; ask again to wait for it, or GET /agents/{agent_id}/backups",
            retry_after=10,
        )


class HopFailed(Unavailable):
    """A turn failed at one hop: gateway, engine or model. `retry_after` are the seconds until one may succeed, where
    that is known."""

    def __init__(self, hop: str, reason: str, *, retry_after: int | None = None) -> None:
        self.hop = hop
        super().__init__(f"{hop}: {reason}; GET /agents/{{id}}/explain tells why", retry_after=retry_after or 10)


def renew_url(agent_id: str) -> str:
    """Where a person pays for this agent (docs/spec.md: AgentTerm, `renewUrl`)."""
    return links.renew(agent_id)
