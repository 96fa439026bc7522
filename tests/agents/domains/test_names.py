"""Which hostnames a customer may use."""

from __future__ import annotations

from typing import Any

import pytest

from agents.domains import names
from config.errors import BadRequest

LONGEST_LABEL = "a" * 63
LONGEST = ".".join([LONGEST_LABEL, LONGEST_LABEL, LONGEST_LABEL, "a" * 57, "com"])


@pytest.mark.parametrize(
    ("given", "host"),
    [
        ("agent.example.org", "agent.example.org"),
        ("Agent.EXAMPLE.org", "agent.example.org"),
        (" agent.example.org. ", "agent.example.org"),
        ("example.org", "example.org"),
        ("bücher.example.org", "xn--bcher-kva.example.org"),
        ("BÜCHER。example.org", "xn--bcher-kva.example.org"),
        ("агент.рф", "xn--80agg6aza.xn--p1ai"),
        ("straße.example.org", "xn--strae-oqa.example.org"),
        ("xn--bcher-kva.example.org", "xn--bcher-kva.example.org"),
        ("r3---sn-4g5.example.org", "r3---sn-4g5.example.org"),
        (LONGEST, LONGEST),
        ("a.github.io", "a.github.io"),
    ],
)
def test_one_name_is_one_name_however_it_is_written(given: str, host: str) -> None:
    assert names.normalised(given) == host


@pytest.mark.parametrize(
    "given",
    [
        *(
            "",
            ".",
            "example",
            "a..example.org",
            ".example.org",
            "agent.example.org..",
            "-a.example.org",
            "a-.example.org",
        ),
        *(
            "_agent.example.org",
            "a b.example.org",
            "agent.example.org:443",
            "https://agent.example.org",
            "a/b.example.org",
        ),
        *("10.0.0.1", "[::1]", "2001:db8::1", "agent.1", "127.1", "\x00.example.org", "a\u2028b.example.org"),
        *("xn--a.example.org", "xn--zzzzzz99999.example.org", "\ud800.example.org", "☃️" * 200),
        *(f"{LONGEST_LABEL}a.example.org", f"a{LONGEST}", "ü" * 64 + ".example.org", "a." * 400 + "org"),
    ],
)
def test_what_is_no_hostname_is_refused(given: str) -> None:
    with pytest.raises(BadRequest, match=r"^domain: ") as refusal:
        names.normalised(given)
    assert len(refusal.value.message) < 500


@pytest.mark.parametrize("given", ["*.example.org", "*", "*.org"])
def test_a_wildcard_is_refused(given: str) -> None:
    with pytest.raises(BadRequest, match="wildcard"):
        names.normalised(given)


@pytest.mark.parametrize("given", ["co.uk", "github.io", "рф.", "com.", "city.kawasaki.jp.ck"])
def test_names_under_which_the_public_registers_are_nobodys(given: str) -> None:
    if given.count(".") == 3:
        assert names.normalised(given) == given  # below a wildcard of the list, so a customer may use it
        return
    with pytest.raises(BadRequest, match=r"public suffix|is not a hostname"):
        names.normalised(given)


@pytest.mark.parametrize(
    "given", ["a.localhost", "printer.local", "db.internal", "redis.default.svc.cluster.local", "x.onion"]
)
def test_names_of_one_network_are_refused(given: str) -> None:
    with pytest.raises(BadRequest, match="local networks only"):
        names.normalised(given)


@pytest.mark.parametrize("own", ["console.example.com", ".example.com", "Example.com"])
def test_the_consoles_own_names_are_refused_however_the_operator_wrote_them(settings: Any, own: str) -> None:
    settings.CONSOLE_HOSTS = [own]
    for name in ("console.example.com", "x.console.example.com", "other.example.com", "example.com"):
        with pytest.raises(BadRequest, match=r"^domain: names under example\.com"):
            names.normalised(name)
    assert names.normalised("agent.example.org") == "agent.example.org"
    assert names.normalised("notexample.com") == "notexample.com"


@pytest.mark.parametrize(
    ("platform", "refused", "free"),
    [
        ("pods.example.co.uk", "mail.example.co.uk", "mail.other.co.uk"),
        ("agentpods.github.io", "x.agentpods.github.io", "somebody.github.io"),
        ("pods.example.net", "pods.example.net", "pods.example.org"),
    ],
)
def test_all_that_is_registered_for_the_platform_is_its_own(
    settings: Any, platform: str, refused: str, free: str
) -> None:
    settings.PLATFORM_DOMAIN = platform
    with pytest.raises(BadRequest, match=r"^domain: names under"):
        names.normalised(refused)
    assert names.normalised(free) == free


def test_a_name_whose_proof_could_not_be_written_is_not_claimed() -> None:
    names.refuse_unprovable("a" * 63 + ".example.org")
    with pytest.raises(BadRequest, match="242"):
        names.refuse_unprovable(LONGEST)
