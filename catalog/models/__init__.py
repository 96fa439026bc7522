"""The tables of the catalog: fields, checks of single rows, named queries. The rules are in other modules."""

from catalog.models.authors import Author, Takedown, in_queue
from catalog.models.documents import PersonaDocument
from catalog.models.offers import Engine, LlmModel, LlmProvider, Tier, Toolset
from catalog.models.personas import Article, Persona, PersonaL10n, PersonaText
from catalog.models.reviews import Review
from catalog.models.rows import CatalogRow, Versioned
from catalog.version import CatalogVersion

__all__ = [
    "Article",
    "Author",
    "CatalogRow",
    "CatalogVersion",
    "Engine",
    "LlmModel",
    "LlmProvider",
    "Persona",
    "PersonaDocument",
    "PersonaL10n",
    "PersonaText",
    "Review",
    "Takedown",
    "Tier",
    "Toolset",
    "Versioned",
    "in_queue",
]
