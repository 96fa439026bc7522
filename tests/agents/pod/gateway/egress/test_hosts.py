"""Names of hosts have one spelling; what two programs could read differently is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.pod.gateway.egress.hosts import BadHostError, HostRule, Target


@pytest.mark.parametrize(
    ("asked", "entry"),
    [
        ("example.com:443", "example.com"),
        ("EXAMPLE.com:443", "Example.COM"),
        ("example.com.:80", "example.com"),
        ("example.com:443", "example.com."),
        ("a.example.com:443", "*.example.com"),
        ("a.b.example.com:443", "*.example.com"),
        ("example.com:8443", "example.com:8443"),
        ("xn--bcher-kva.example:443", "xn--bcher-kva.example"),
        ("_dmarc.example.com:443", "*.example.com"),
    ],
)
def test_an_entry_means_this_host(asked: str, entry: str) -> None:
    assert HostRule.read(entry).matches(Target.read(asked))


@pytest.mark.parametrize(
    ("asked", "entry"),
    [
        ("example.com:443", "*.example.com"),
        ("badexample.com:443", "*.example.com"),
        ("badexample.com:443", "example.com"),
        ("example.com.evil.org:443", "example.com"),
        ("example.com:22", "example.com"),
        ("example.com:443", "example.com:8443"),
        ("93.184.216.34:443", "example.com"),
        ("[2606:2800:220:1::1]:443", "*.example.com"),
    ],
)
def test_an_entry_does_not_mean_this_host(asked: str, entry: str) -> None:
    assert not HostRule.read(entry).matches(Target.read(asked))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":443",
        "example.com",
        "example.com:",
        "example.com:0",
        "example.com:00443",
        "example.com:+443",
        "example.com:443:443",
        "example.com:99999",
        "example.com:4٤3",
        "user@example.com:443",
        "example.com@evil.org:443",
        "example.com%00.evil.org:443",
        "example.com\\.evil.org:443",
        "example.com/:443",
        "example.com#:443",
        "exam\tple.com:443",
        "example..com:443",
        ".example.com:443",
        "example.com..:443",
        "-.example.com:443",
        "bücher.example:443",
        "example。com:443",
        "ｅxample.com:443",
        "127.1:443",
        "0177.0.0.1:443",
        "0x7f.0.0.1:443",
        "0x7f000001:443",
        "2130706433:443",
        "127.0.0.1.5:443",
        "127.0.0.0x1:443",
        "example.123:443",
        "::1:443",
        "[::1",
        "[::1]",
        "[::1]443",
        "[::1%lo]:443",
        "[fe80::1%25eth0]:443",
        "[127.0.0.1]:443",
        "[example.com]:443",
    ],
)
def test_what_programs_may_read_differently_is_no_host(text: str) -> None:
    with pytest.raises(BadHostError):
        Target.read(text)


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("a.example.com", "a.example.com:8443", True),
        ("*.example.com", "a.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "*.a.example.com", True),
        ("*.example.com", "*.example.org", False),
        ("a.example.com", "b.example.com", False),
    ],
)
def test_entries_that_may_mean_one_name_overlap(one: str, other: str, overlap: bool) -> None:
    assert HostRule.read(one).overlaps(HostRule.read(other)) is overlap
    assert HostRule.read(other).overlaps(HostRule.read(one)) is overlap


@given(st.text(max_size=60))
def test_any_text_is_a_host_or_refused_and_reading_it_again_changes_nothing(text: str) -> None:
    try:
        target = Target.read(text, default_port=443)
    except BadHostError:
        return
    assert Target.read(str(target)) == target
    assert target.host == target.host.lower()
    assert target.host.isascii()
