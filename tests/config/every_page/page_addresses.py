"""The addresses of the pages behind the sign-in, in all their states. `conftest.py` has the names in braces."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlencode

OWNER, LEAVER, NOBODY = "owner", "leaver", "nobody"
_AGENT = "/account/agents/{%s}"
_STATES = ("full", "fresh", "starting", "paused", "unpaid", "failed", "licensed", "paid")
_SECTIONS = (
    *("model-key", "settings", "channels", "tools", "mcp", "a2a", "egress", "domain", "webhook", "memory", "backups"),
    *("usage", "limits", "log", "replay", "replay/delete", "events"),
)
_CHOICE = "persona=test-study-buddy&tier=tiny&engine=pi"
PROGRAM = "https://program.example/client.json"
_ASKED = urlencode(
    {
        "response_type": "code",
        "client_id": PROGRAM,
        "redirect_uri": "http://127.0.0.1:7777/back",
        "code_challenge": "c" * 43,
        "code_challenge_method": "S256",
    }
)


@dataclass(frozen=True)
class Place:
    """An address; or, if `form` is set, the page that answers this form."""

    address: str
    who: str = OWNER
    form: str = ""  # the end of the form's action
    typed: dict[str, str] = field(default_factory=dict)
    signed_out: bool = False  # before the form is sent

    def __str__(self) -> str:
        sent = f" sends {self.form} {self.typed}{' signed out' * self.signed_out}" if self.form else ""
        return f"{self.address} ({self.who}){sent}"


def _owner() -> list[str]:
    return [
        "/account",
        "/account/keys/{key}/revoke",
        "/account/keys/{key}/limits",
        "/account/sessions",
        "/account/personas",
        "/account/personas/{draft}",
        "/account/personas/{draft}/preview",
        "/account/personas/{draft}/delete",
        "/account/personas/{draft}/articles",
        "/account/personas/{draft}/articles/note",
        "/account/personas/{draft}/articles/note/delete",
        "/account/data",
        "/account/delete",
        "/account/limits",
        "/account/mails",
        "/account/payments",
        "/account/payments/{payment}",
        "/account/invoices",
        f"/create?{_CHOICE}",
        f"/create/key?{_CHOICE}",
        f"/create/key?{_CHOICE.replace('pi', 'hermes')}",  # refused, because the plan is too small for the engine
        *(_AGENT % state for state in _STATES),
        *(f"{_AGENT % 'full'}/{name}" for name in _SECTIONS),
        *(f"{_AGENT % 'fresh'}/{name}" for name in _SECTIONS),  # an agent without content
        *(f"{_AGENT % 'paused'}/{name}" for name in ("memory", "backups", "usage", "log", "events")),
        *(f"{_AGENT % 'full'}/{name}" for name in ("plan", "rebuild", "delete", "free-plan", "domain?look=now")),
        f"{_AGENT % 'full'}/backups/{{backup}}/restore",
        *(f"{_AGENT % 'licensed'}/{name}" for name in ("plan", "cancel")),
        *(f"{_AGENT % 'paid'}/{name}" for name in ("plan", "next-plan")),
        "/renew/{full}",
        *(
            f"/renew/{{full}}?tier=small&period=monthly&provider={way}"
            for way in ("usdt", "stripe", "stars", "gumroad", "lemonsqueezy")
        ),
        "/renew/{full}?tier=small&period=monthly&provider=usdt&coupon=NOSUCH",
        *(f"/renew/{{{state}}}" for state in ("by_coin", "by_stars", "by_card", "licensed", "paid", "unpaid")),
        f"/oauth/authorize?{_ASKED}",
        "/oauth/authorize",  # refused: no program asks
        "/oauth/activate?user_code=BBBB-CCCC",
        "/account/nothing-like-it",
        "/renew/nothing/like/it",
        _AGENT % "nobodys",
    ]


PLACES = [
    *map(Place, _owner()),
    Place("/account/delete", LEAVER),
    Place("/account", LEAVER),
    Place("/sign-in", NOBODY),
    Place("/sign-in?next=%2Faccount%2Fpayments", NOBODY),
    Place("/sign-in/nothing-like-it", NOBODY),
    Place(f"/create?{_CHOICE}", NOBODY),
    # Answers to forms: pages of their own, or the same page with the errors.
    Place("/sign-in", NOBODY, form="/sign-in", typed={"email": "new@example.com"}),
    Place("/sign-in", NOBODY, form="/sign-in", typed={"email": "nonsense"}),
    Place("/account", form="/account/keys", typed={"name": "laptop"}),
    Place("/account/delete", form="/account/delete/code"),
    Place("/oauth/activate", form="/oauth/activate", typed={"user_code": "BBBB-CCCC"}),
    Place("/oauth/activate", form="/oauth/activate", typed={"user_code": "DDDD-DDDD"}),
    Place("/oauth/activate", form="/oauth/activate", typed={"user_code": "BBBB-CCCC", "answer": "deny"}),
    Place("/account/invoices", form="/account/invoices", typed={"name": "A", "country": "Germany"}),
    Place("/account/personas/{draft}", form="{draft}", typed={"name": "Night Owl"}),
    Place(f"{_AGENT % 'fresh'}/webhook", form="/webhook", typed={"url": "https://hooks.example.com/a"}),
    Place(f"{_AGENT % 'fresh'}/domain", form="/domain", typed={"domain": "not a name"}),
    Place(f"{_AGENT % 'full'}/delete", form="/delete", typed={"name": "another"}),
    Place(_AGENT % "full", form="/talk-test"),
    Place(f"{_AGENT % 'fresh'}/webhook", form="/webhook", typed={"url": "https://a.example.com"}, signed_out=True),
]

# Routes without a page of their own for GET: they redirect to the page with the form, or give a file or a part of a
# page.
LEAD_ON = {
    "account/keys",
    "account/sessions/end-others",
    "account/sessions/<str:id>/end",
    "account/personas/author",
    "account/personas/<str:id>/publish",
    "account/personas/<str:id>/unpublish",
    "account/delete/code",
    "account/delete/keep",
    "account/agents/<str:id>/ticket",
    "account/agents/<str:id>/egress/secrets",
    "account/agents/<str:id>/egress/secrets/remove",
    "account/agents/<str:id>/domain/look",
    "account/agents/<str:id>/domain/remove",
    "account/agents/<str:id>/webhook/test",
    "account/agents/<str:id>/webhook/remove",
    "account/agents/<str:id>/webhook/deliveries/<str:delivery>",
    "account/agents/<str:id>/mcp/command",
    "account/agents/<str:id>/mcp/test",
    "account/agents/<str:id>/mcp/remove",
    "account/agents/<str:id>/a2a/token",
    "account/agents/<str:id>/a2a/peers",
    "account/agents/<str:id>/a2a/peers/remove",
    "account/agents/<str:id>/talk-test",
    "account/agents/<str:id>/pause",
    "account/agents/<str:id>/resume",
    "account/agents/<str:id>/card",
    "sign-in/code",
    "sign-in/",
    "account/",
    "guide",
    "<lang:lang>",  # the catalog's own
}
FILES = {
    "renew/<str:id>/progress",
    "account/data/<str:id>",
    "account/agents/<str:id>/backups/<str:name>",
    "account/payments/<str:id>/receipt",
    "account/invoices/<str:id>",
    "robots.txt",
    "llms.txt",
    "llms-full.txt",
    ".well-known/api-catalog",
    ".well-known/security.txt",
    "sitemap.xml",
    "sitemaps/<int:number>.xml",
    "status/feed.atom",
    "guide/",  # a site of its own: tests/config/test_guide_in_a_browser.py
    "guide/<path:file>",
}
# Templates that no visit shows, because their pages redirect to another host at once.
UNSEEN = {"account/ticket.html", "account/card.html"}
