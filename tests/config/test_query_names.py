"""Query parameters that a call does not take: ignored, and named in `Ignored-Fields`."""

from __future__ import annotations

from accounts.models import User
from tests.agents.conftest import signed_in


def test_what_the_query_does_not_take_is_named(owner: User, catalog: None) -> None:
    client = signed_in(owner)
    for path, named in (
        ("/keys?curser=x&fields=id", "curser"),
        ("/agents?limit=1&status=running&fields=id", None),
        ("/me?form=2026-11-01&fields=email", "form"),
        ("/tiers?currency=eur", "currency"),
        ("/personas?limit=1&categroy=social", "categroy"),
        ("/tiers", None),
    ):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert answer.headers.get("Ignored-Fields") == named, path
    assert client.head("/me?form=1").headers["Ignored-Fields"] == "form"
    both = client.post("/keys?dryRun=true&dryrum=1", {"name": "a"}, format="json")
    assert (both.status_code, both.headers["Ignored-Fields"]) == (200, "dryrum")
    many = client.get("/me?" + "&".join(f"a{number}=1" for number in range(900)))
    assert len(many.headers["Ignored-Fields"]) < 100
    too_many = client.get("/me?" + "a=1&" * 5_000)
    told = "query or form: has more parameters than a request may have"
    assert (too_many.status_code, too_many.json()["message"]) == (400, told)
    assert client.get("/tiers?" + "a=1&" * 5_000).status_code in {200, 400}
    odd = client.get("/me?%0d%0aSet-Cookie=1&caf%C3%A9=1&" + "x" * 5_000 + "=1")
    assert (odd.status_code, len(odd.headers["Ignored-Fields"])) == (200, 500)
