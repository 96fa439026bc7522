"""Hooks of schemathesis that make its requests reach further than a stranger's: with existing ids and valid codes.

schemathesis imports this module by its name in SCHEMATHESIS_HOOKS. Only values generated as valid are replaced: a path
that is meant to be wrong stays wrong.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.openapi.checks import EnsureResourceAvailability, UseAfterFree

BASE = os.environ["FUZZ_BASE_URL"]
SESSION = {"Authorization": f"Bearer {os.environ['FUZZ_SESSION']}"}
RECEIVER = os.environ.get("FUZZ_RECEIVER", "")
AGENTS = 2  # the number of agents that exist at least
LOOK_EVERY_SECONDS = 5.0
TIMEOUT_SECONDS = 30
NEW = {"personaId": "exam-coach", "tier": "tiny"}
PERSONA = {
    "name": "Owl",
    "tagline": "Company",
    "forWho": "People",
    "does": ["Talks"],
    "doesExamples": None,
    "category": "social",
    "tier": "tiny",
    "risk": "low",
    "soul": "You are Owl.",
    **dict.fromkeys(("ru", "es", "pt", "tr", "ind")),
}
ARTICLE = {"title": "Night", "lang": "en", "status": "published", "body": "# Night"}

chance = random.Random(os.environ.get("FUZZ_SEED", "1"))  # the same seed sends the same requests
_agents: list[str] = []
_personas: list[str] = []
_looked: dict[str, float] = {}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Each sign-in comes from another address, so that limits do not hide the code behind them."""
    match case.operation.path:
        case "/auth/request":
            _come_from_elsewhere(case)
        case "/auth/verify":
            _come_from_elsewhere(case)
            _give_code(case)
        case "/agents/{id}/webhook/test" if RECEIVER:
            _fill(case)
            _ask("PUT", f"/agents/{case.path_parameters.get('id')}/webhook", {"url": RECEIVER})
        case _:
            _fill(case)


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Whether this failure counts.

    Deliveries stay in the log after their webhook is deleted, so they are no leftovers. A draft has no public page.
    """
    path = case.operation.path
    is_log = path.startswith("/agents/{id}/webhook/deliveries") and isinstance(failure, UseAfterFree)
    is_draft = path == "/personas/{id}" and isinstance(failure, EnsureResourceAvailability)
    return not (is_log or is_draft)


def _come_from_elsewhere(case: Any) -> None:
    case.headers["X-Forwarded-For"] = f"203.0.113.{chance.randrange(256)}"


def _give_code(case: Any) -> None:
    """Put the right code for its address into half of the tries."""
    body = case.body
    if not isinstance(body, dict) or _is_wrong(case, ParameterLocation.BODY) or chance.random() < 0.5:
        return
    answer = _ask("POST", "/auth/request", {"email": body.get("email")})
    if "devCode" in answer:
        body["code"] = answer["devCode"]


def _fill(case: Any) -> None:
    """Put ids of existing agents, keys and deliveries into most paths; chains of calls keep their own ids."""
    given = case.path_parameters
    stateful = case.meta is not None and case.meta.phase.name is TestPhase.STATEFUL
    if stateful and str((case.query or {}).get("dryRun")).lower() == "true":
        case.query.pop("dryRun")  # a chain goes on with what its first call made
    if not given or stateful or _is_wrong(case, ParameterLocation.PATH) or chance.random() < 0.1:
        return
    path = case.operation.path
    if path.startswith("/agents/") and (agent := _agent()):
        given["id"] = agent
        if "delivery" in given:
            given["delivery"] = _delivery(agent) or given["delivery"]
    if path == "/keys/{id}":
        given["id"] = _ask("POST", "/keys", {"name": "to be revoked"})["key"]["id"]
    if path == "/personas/{id}" and case.operation.method.upper() == "GET":
        given["id"] = chance.choice(_ask("GET", "/personas")["personas"])["id"]
    elif "/personas/{id}" in path:
        _name_own_persona(case)


def _name_own_persona(case: Any) -> None:
    """Put an own persona into the path, and one of its articles if needed. A persona deleted now is not used again."""
    given = case.path_parameters
    given["id"] = _persona()
    if "slug" in given:
        given["slug"] = _article(given["id"]) or given["slug"]
    elif case.operation.method.upper() == "DELETE":
        _personas.remove(given["id"])


def _is_time(what: str) -> bool:
    """Whether our list of these is too old."""
    now = time.monotonic()
    is_old = now - _looked.get(what, -LOOK_EVERY_SECONDS) >= LOOK_EVERY_SECONDS
    if is_old:
        _looked[what] = now
    return is_old


def _persona() -> str:
    """The id of one of the caller's personas, published half of the time; created if none is left."""
    if _is_time("personas"):
        _personas[:] = [persona["id"] for persona in _ask("GET", "/me/personas")["personas"]]
    if not _personas:
        _personas.append(_ask("POST", "/personas", PERSONA)["persona"]["id"])
    persona = chance.choice(_personas)
    if chance.random() < 0.5:
        _ask("PATCH", f"/personas/{persona}", PERSONA)
        _ask("POST", f"/personas/{persona}/publish")
    return persona


def _article(persona: str) -> str | None:
    """The slug of an article of this persona, created if it has none; None if the persona is gone."""
    found = _ask("GET", f"/me/personas/{persona}").get("articles")
    article = chance.choice(found) if found else _ask("POST", f"/personas/{persona}/articles", ARTICLE).get("article")
    return str(article["slug"]) if article else None


def _is_wrong(case: Any, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


def _agent() -> str | None:
    """The id of an agent that existed a moment ago; new agents are created if too few are left."""
    if _is_time("agents"):
        _agents[:] = [agent["id"] for agent in _ask("GET", "/agents")["agents"]]
        while len(_agents) < AGENTS and (made := _ask("POST", "/agents", NEW).get("agent")):
            _agents.append(made["id"])
    return chance.choice(_agents) if _agents else None


def _delivery(agent: str) -> str | None:
    found = _ask("GET", f"/agents/{agent}/webhook/deliveries").get("deliveries")
    return str(chance.choice(found)["id"]) if found else None


def _ask(method: str, path: str, body: Any = None) -> Any:
    """The service's answer, {} if it has no body. Each request has a random address."""
    headers = {**SESSION, "X-Forwarded-For": f"203.0.113.{chance.randrange(256)}"}
    answer = requests.request(method, BASE + path, json=body, headers=headers, timeout=TIMEOUT_SECONDS)
    return answer.json() if answer.content else {}
