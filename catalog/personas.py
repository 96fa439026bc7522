"""Personas: which are public, what agents take from them, and how often a persona was deployed."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from catalog import snapshot, version
from catalog.models import Persona
from catalog.models.personas import count_due
from catalog.snapshot import Snapshot
from catalog.vocabulary import PersonaStatus
from config.errors import BadRequest, NotFound

SHOWN_AT_ONCE = 1_000  # counts; without a limit PostgreSQL expects that most are due, and reads all personas


class UnknownPersona(BadRequest):
    def __init__(self, persona_id: str, field: str) -> None:
        super().__init__(
            f"{field}: {persona_id!r} is not a public persona; GET /personas lists the ids, and a draft of yours is"
            " published first (POST /personas/{id}/publish)"
        )


class NoSuchPersona(NotFound):
    message = "no such persona: GET /personas lists the ids"


def public(catalog: Snapshot | None = None) -> list[Persona]:
    """Built-in and published community personas, of this snapshot or of the current one."""
    return [persona for persona in (catalog or snapshot.current()).personas.values() if persona.public]


def shown(persona_id: str, catalog: Snapshot | None = None) -> Persona:
    """The public persona of this id. Raises NoSuchPersona."""
    persona = (catalog or snapshot.current()).personas.get(persona_id)
    if persona is None or not persona.public:
        raise NoSuchPersona
    return persona


def public_persona(persona_id: str, field: str = "personaId") -> Persona:
    """The persona of this id if anybody may use it, even if it was published a moment ago. Raises UnknownPersona."""
    persona = snapshot.current().personas.get(persona_id) or snapshot.look().personas.get(persona_id)
    if persona is None or not persona.public:
        raise UnknownPersona(persona_id, field)
    return persona


def current_soul(persona_id: str) -> str | None:
    """The persona's soul (its system prompt) as it is now. None if the persona is not public: an agent then keeps its
    own.

    Read from the database and not from the snapshot: an author who changes the soul and rebuilds an agent in the same
    second means the new soul.
    """
    public = Persona.objects.offered().exclude(status=PersonaStatus.DRAFT)
    return public.filter(pk=persona_id).values_list("soul", flat=True).first()


def recommended_models(persona_id: str) -> list[str]:
    """The persona's model ids, the best first, even if it is a draft again. Empty if the persona is gone."""
    persona = snapshot.current().personas.get(persona_id)
    if persona is not None:
        return list(persona.recommended_models)
    found = Persona.objects.filter(pk=persona_id).values_list("recommended_models", flat=True).first()
    return list(found or [])


def count_deployment(persona_id: str) -> None:
    """Count the first start of an agent; `show_deployments` makes the count visible."""
    Persona.objects.filter(id=persona_id).update(deployments=F("deployments") + 1)


@transaction.atomic
def show_deployments() -> int:
    """Show the deployments counted since the last run, a minute ago. Return the number of personas that changed.

    Only this function changes the shown counts, so a count stays the same for its minute, even if other changes of the
    catalog happen meanwhile. Rows that another transaction holds are skipped and due again in a minute, so that nothing
    waits.
    """
    due = Persona.objects.filter(count_due()).order_by("pk").select_for_update(skip_locked=True, no_key=True)
    ids = list(due.values_list("pk", flat=True)[:SHOWN_AT_ONCE])
    counted = Persona.objects.filter(pk__in=ids).update(deployed_count=F("deployments"))
    if counted:
        version.bump()
    return counted
