"""Revisions of personas, so that only changed personas are read again.

PostgreSQL provides them: a row's `xmin` and `ctid` change with every change of the row, whatever made it.
"""

from __future__ import annotations

from django.db import connection

from catalog.models import Article, Persona, PersonaL10n
from catalog.vocabulary import PersonaStatus

_TEXTS = PersonaL10n._meta.db_table  # noqa: SLF001 # Django's public API
_ARTICLES = Article._meta.db_table  # noqa: SLF001
_PERSONAS = Persona._meta.db_table  # noqa: SLF001

_SQL = f"""
    WITH texts AS (
        SELECT persona_id, string_agg(concat(xmin, ctid), ' ' ORDER BY id) AS rows FROM {_TEXTS} GROUP BY persona_id
    ), articles AS (
        SELECT persona_id, string_agg(concat(xmin, ctid), ' ' ORDER BY id) AS rows FROM {_ARTICLES} GROUP BY persona_id
    )
    SELECT persona.id, concat_ws('/', concat(persona.xmin, persona.ctid), coalesce(texts.rows, ''), articles.rows)
    FROM {_PERSONAS} AS persona
    LEFT JOIN texts ON texts.persona_id = persona.id
    LEFT JOIN articles ON articles.persona_id = persona.id
    WHERE persona.status <> %s
    ORDER BY persona.position, persona.id COLLATE "C"
"""  # noqa: S608 # only our own table names


def of_personas() -> dict[str, str]:
    """The revisions of all personas except drafts, with their localizations and articles, by id in the list's order."""
    with connection.cursor() as cursor:
        cursor.execute(_SQL, [PersonaStatus.DRAFT])
        return dict(cursor.fetchall())
