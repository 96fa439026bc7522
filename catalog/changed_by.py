"""Which call changes each field of a persona, an article and an author.

Calls that get another call's field use this to refuse it.
"""

from __future__ import annotations

_SERVICE = "the service sets it"
_TIER = "it follows from the tier"

PERSONA: dict[str, str] = {
    "id": "it is made from the name and never changes",
    "spec": _TIER,
    "price": _TIER,
    "authorId": _SERVICE,
    "author": "PUT /me/author changes it, as name",
    "status": "POST /personas/{id}/publish and POST /personas/{id}/unpublish change it",
    "deployedCount": _SERVICE,
}

ARTICLE: dict[str, str] = {
    "id": _SERVICE,
    "personaId": "it is in the URL",
    "slug": "it is chosen once, by POST /personas/{id}/articles",
    "createdAt": _SERVICE,
    "updatedAt": _SERVICE,
}

AUTHOR: dict[str, str] = {"id": _SERVICE}
