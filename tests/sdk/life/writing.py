"""An author writes a persona and an article, publishes both, and takes them back."""

from __future__ import annotations

from agentpods import types
from catalog import snapshot
from tests.sdk.driving.client import DrivenClient

OWL: types.DraftPersonaRequest = {
    "name": "Owl", "tagline": "Company", "forWho": "People", "does": ["Talks"], "category": "social", "tier": "tiny",
    "soul": "You are Owl.",
}  # fmt: skip
ARTICLE: types.WriteArticleRequest = {
    "slug": "night", "title": "Night", "lang": "en", "status": "published", "body": "# Owl"
}  # fmt: skip


def writes_personas(pods: DrivenClient) -> None:
    api = pods.api
    assert api.set_author({"name": "Ann"})["author"]["name"] == "Ann"
    assert api.get_author()["author"]
    owl = api.create_persona(OWL)["persona"]["id"]
    assert api.update_persona(owl, {"tagline": "Warm"})["persona"]["tagline"] == "Warm"
    assert owl in {one["id"] for one in api.list_own_personas()["personas"]}
    assert api.get_own_persona(owl)["persona"]["id"] == owl
    assert api.create_persona_article(owl, ARTICLE)["article"]["slug"] == "night"
    assert api.get_own_persona_article(owl, "night")["article"]["slug"] == "night"
    assert api.update_persona_article(owl, "night", {"title": "Late"})["article"]["title"] == "Late"
    api.publish_persona(owl)
    snapshot.forget()  # the service looks for changes of its catalog once a second
    assert api.get_persona_article(owl, "night")["article"]["title"] == "Late"
    api.unpublish_persona(owl)
    api.delete_persona_article(owl, "night")
    api.delete_persona(owl)
