"""The public directory of agents whose owners have them listed: who can be spoken to now, and nothing of owners."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from agents import pods
from agents.models import Agent, AgentQuerySet, Desired, Status
from catalog import search, snapshot
from catalog.models import Persona
from catalog.models.personas import PersonaText
from catalog.search import PersonaQuery
from config import paging

PATH = "/a2a-catalog"
USUAL_PAGE, MAX_PAGE = 50, 200
MAX_WORDS_CHARACTERS = 100  # of a search
PERSONAS = 50  # the best of those that the words find
# Of all places where the card is, the one that clients of 0.3 understand too (agents/pod/gateway/a2a/card.py).
CARD = "/a2a/.well-known/agent-card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """An agent as strangers see it. What its persona says is empty where that is not public."""

    id: str
    name: str
    persona_id: str | None
    description: str
    tags: list[str]
    lang: str
    engine: str
    a2a_url: str
    card_url: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    agents: list[Listing]
    headers: dict[str, str]


def page(*, q: str | None = None, limit: int = USUAL_PAGE, cursor: str | None = None) -> Page:
    """Newest first. `q` is looked for in their names, and finds personas as `GET /personas` does.

    Raises UnknownCursor.
    """
    found = _listed()
    if q and not q.isspace():
        best = search.find(PersonaQuery(q=q, limit=PERSONAS)).personas
        found = found.filter(Q(name__icontains=q.strip()) | Q(persona_id__in=[persona.id for persona in best]))
    rows = paging.page(found, path=PATH, ids="agt", narrowed={"q": q}, limit=limit, cursor=cursor)
    known = snapshot.current().personas
    return Page([_listing(agent, known.get(agent.persona_id)) for agent in rows.rows], rows.headers)


def _listed() -> AgentQuerySet:
    """Whoever peers would be answered by now."""
    shown = Agent.objects.only("id", "name", "persona_id", "lang", "engine", "slug", "created_at", "status_since")
    running = shown.filter(status=Status.RUNNING, desired=Desired.RUNNING, user__is_active=True)
    return running.filter(a2a_listed=True, a2a_enabled=True)


def _listing(agent: Agent, persona: Persona | None) -> Listing:
    persona = persona if persona and persona.public else None
    text: PersonaText | None = persona and persona.texts.get(agent.lang, persona)
    return Listing(
        id=agent.pk,
        name=agent.name,
        persona_id=persona.id if persona else None,
        description=text.tagline if text else "",
        tags=list(text.does) if text else [],
        lang=agent.lang,
        engine=agent.engine,
        a2a_url=f"{pods.public_url(agent)}/a2a",
        card_url=f"{pods.public_url(agent)}{CARD}",
        updated_at=agent.status_since,
    )
