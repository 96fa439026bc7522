"""What billing writes to people, in the language of the agent it is about."""

from __future__ import annotations

from agents.errors import renew_url
from agents.models import Agent
from billing.term import Term
from config import post


def remind(agent: Agent, term: Term, *, day: int) -> None:
    """The mail of a notice: `day` days before the pod stops, 0 when it has stopped."""
    mail = post.rendered(
        "pod_stopped" if day == 0 else "pod_stops",
        lang=agent.lang,
        name=post.one_line(agent.name),
        agent_id=agent.pk,
        days=day,
        mode=str(term.mode),
        stops_at=_moment(term.stops_at),
        deletes_at=_moment(term.deletes_at),
        renew_url=renew_url(agent.pk),
    )
    post.write(agent.user_id, mail)


def _moment(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else ""
