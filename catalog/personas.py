"""Personas: which are public, what agents take from one, and how often one was deployed."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from catalog import snapshot, version
from catalog.models import Persona
from catalog.models.personas import count_due
from catalog.snapshot import Snapshot
from catalog.vocabulary import PersonaStatus
from config.errors import BadRequest, NotFound

SHOWN_AT_ONCE = 1_000  # counts; without a bound PostgreSQL, which expects most to be due, reads all personas


class UnknownPersona(BadRequest):
    def __init__(self, persona_id: str, field: str) -> None:
        super().__init__(
            f"{field}: {persona_id!r} is not a public persona; GET /personas lists the ids, and a draft of yours is"
            " published first (POST /personas/{id}/publish)"
        )


class NoSuchPersona(NotFound):
    def __init__(self) -> None:
        super().__init__("no such persona: GET /personas lists the ids")


def public(catalog: Snapshot | None = None) -> list[Persona]:
    """Built-in and published community personas, of this catalog or the current one."""
    return [persona for persona in (catalog or snapshot.current()).personas.values() if persona.public]


def shown(persona_id: str, catalog: Snapshot | None = None) -> Persona:
    """The public persona of this id in a path."""
    persona = (catalog or snapshot.current()).personas.get(persona_id)
    if persona is None or not persona.public:
        raise NoSuchPersona
    return persona


def public_persona(persona_id: str, field: str = "personaId") -> Persona:
    """The persona of this id, if anybody may use it; also one that was published a moment ago."""
    persona = snapshot.current().personas.get(persona_id) or snapshot.look().personas.get(persona_id)
    if persona is None or not persona.public:
        raise UnknownPersona(persona_id, field)
    return persona


def current_soul(persona_id: str) -> str | None:
    """The soul as its author last left it, or None when the persona is not public: an agent then keeps its own.

    Asked of the database: who changes a soul and rebuilds an agent in the same second means the new one.
    """
    public = Persona.objects.offered().exclude(status=PersonaStatus.DRAFT)
    return public.filter(pk=persona_id).values_list("soul", flat=True).first()


def recommended_models(persona_id: str) -> list[str]:
    """The persona's model ids, the best first, also when it is a draft again; none when it is gone."""
    persona = snapshot.current().personas.get(persona_id)
    if persona is not None:
        return list(persona.recommended_models)
    found = Persona.objects.filter(pk=persona_id).values_list("recommended_models", flat=True).first()
    return list(found or [])


def count_deployment(persona_id: str) -> None:
    """Count one agent's first running; `show_deployments` shows it."""
    Persona.objects.filter(id=persona_id).update(deployments=F("deployments") + 1)


@transaction.atomic
def show_deployments() -> int:
    """Show what was counted since the last time, which is a minute ago. Returns for how many personas that was.

    Counts change here alone, so that whatever else changes the catalog meanwhile, a count stays for its minute. What
    somebody else writes to right now is due again in a minute: nobody who holds several personas is waited for.
    """
    due = Persona.objects.filter(count_due()).order_by("pk").select_for_update(skip_locked=True, no_key=True)
    ids = list(due.values_list("pk", flat=True)[:SHOWN_AT_ONCE])
    counted = Persona.objects.filter(pk__in=ids).update(deployed_count=F("deployments"))
    if counted:
        version.bump()
    return counted
