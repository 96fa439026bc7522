"""The public directory: agents that can be spoken to now and whose owners want them listed. It shows nothing about
owners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib.postgres.search import SearchQuery, SearchVectorExact
from django.db import connection, transaction
from django.db.models import Q

from agents.models import NAME_WORDS, Agent, AgentQuerySet, Desired, Status
from agents.running import pods
from catalog import search, snapshot
from catalog.models import Persona
from catalog.models.personas import PersonaText
from catalog.search import PersonaQuery
from config import paging

PATH = "/a2a-catalog"
USUAL_PAGE, MAX_PAGE = 50, 200
MAX_WORDS_CHARACTERS = 100  # in a search
WORDS = 8
NAMES = 1_000  # at most so many agents whose names match
_COLUMNS = ("id", "name", "persona_id", "lang", "engine", "slug", "created_at", "status_since")
_WORD = re.compile(r"\w+")
PERSONAS = 50  # at most so many personas, the best matches
# A pod serves its card at several paths. Clients of A2A 0.3 understand this one too (agents/pod/gateway/a2a/card.py).
CARD = "/a2a/.well-known/agent-card.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedAgent:
    """An agent as strangers see it. The fields of its persona are empty when the persona is not public."""

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
class AgentPage:
    agents: list[ListedAgent]
    headers: dict[str, str]
    cursor: str | None  # of the next page
    next_url: str | None


def page(*, q: str | None = None, limit: int = USUAL_PAGE, cursor: str | None = None, path: str = PATH) -> AgentPage:
    """Return a page of agents, the newest first.

    `q` finds agents by their names and by their personas. Each word of `q` may be the beginning of a word in a name.
    Personas are found as `GET /personas` finds them.

    Raises UnknownCursor.
    """
    found = _shown().only(*_COLUMNS).filter(desired=Desired.RUNNING, user__is_active=True)  # they answer peers now
    if q and not q.isspace():
        personas = search.find(PersonaQuery(q=q, limit=PERSONAS)).personas
        found = found.filter(_named(q) | Q(persona_id__in=[persona.id for persona in personas]))
    rows = paging.page(found, path=path, ids="agt", narrowed={"q": q}, limit=limit, cursor=cursor)
    known = snapshot.current().personas
    return AgentPage(
        [_listing(agent, known.get(agent.persona_id)) for agent in rows.rows], rows.headers, rows.cursor, rows.next_url
    )


def _named(q: str) -> Q:
    """Match agents whose names have all words of `q`. A word must be a word's beginning: a search inside of words would
    have to read every row.

    The planner cannot know how few names have all these words, and sometimes prefers to read all rows in order.
    Strangers must not be able to cause that cost, so only the index `agent_listed_name` is left to it.
    """
    words = _WORD.findall(q)[:WORDS]
    begun = SearchQuery(" & ".join(f"{word}:*" for word in words), config="simple", search_type="raw")
    found = _shown().filter(SearchVectorExact(NAME_WORDS, begun)) if words else Agent.objects.none()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)")
        return Q(pk__in=list(found.values_list("pk", flat=True)[:NAMES]))


def _shown() -> AgentQuerySet:
    """The agents that the two indexes of the directory hold."""
    return Agent.objects.filter(status=Status.RUNNING, a2a_listed=True, a2a_enabled=True)


def _listing(agent: Agent, persona: Persona | None) -> ListedAgent:
    persona = persona if persona and persona.public else None
    text: PersonaText | None = persona and persona.texts.get(agent.lang, persona)
    return ListedAgent(
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
