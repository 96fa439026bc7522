from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from webhooks import receiver_url
from webhooks.receiver_url import BadReceiverUrl

# Addresses in addition to the cases 64 to 92.
ACCEPTED = {
    "https://example.com": "https://example.com",
    "https://example.com?token=a@b": "https://example.com?token=a@b",
    "HTTPS://EXAMPLE.com/Hook": "https://example.com/Hook",
    "https://bücher.example/": "https://xn--bcher-kva.example/",
    "https://example.com/%7Eада?q=ё": "https://example.com/%7E%D0%B0%D0%B4%D0%B0?q=%D1%91",
    "http://8.8.8.8:80/": "http://8.8.8.8:80/",
    "http://[2606:4700:4700:0::1111]/": "http://[2606:4700:4700::1111]/",
    "http://my_service.example/": "http://my_service.example/",
}
REFUSED = [
    # Spellings of an address that programs read differently, and letters in disguise.
    *("http://１２７.0.0.1/", "http://1.2.3.4.5/", "http://example.0x7f/", "http://example.99/"),
    *("http://ｅxample.com/", "http://example。com/"),
    # A dot at the end of the name.
    *("https://example.com./hook", "http://example.com./", "http://example.com.", "http://example.com.:8080/x"),
    *(
        "http://example.com.?x",
        "http://example.com../",
        "http://bücher.example。/",
        "http://EXAMPLE.COM./",
        "http://./",
    ),
    # Zone ids and brackets.
    *("http://[fe80::1%eth0]/", "http://[[::1]]/", "http://[::1/", "http://[]/", "http://[127.0.0.1]/"),
    "http://[::1]:80:80/",
    # Credentials and fragments.
    *("http://example.com@8.8.8.8/", "http://example.com\\.evil.example/", "http://example.com/#x"),
    # Characters that some parsers silently drop.
    *(" http://example.com/", "http://example.com/ ", "http://example.com/\u2028", "http://example.com/\x7f"),
    *("http://ex\u200bample.com/", "http://ex\u00adample.com/"),
    # Ports.
    *("http://example.com:/", "http://example.com:-1/", "http://example.com:+80/", "http://example.com:000080/"),
    "http://example.com:8_0/",
    # Not absolute, or not HTTP.
    *("http://", "http://?x", "/hook", "https:/example.com/", "httpss://example.com/", "http+unix://example.com/"),
    # Invalid names.
    *("http://a..b/", "http://.example.com/", "http://-a.example/", "http://a-.example/", "http://exa$mple.com/"),
    *(f"http://{'a' * 64}.example/", f"http://{'a.' * 127}example/", "http://ex%61mple.com/", "http://xn--ü.example/"),
    "http://" + "a" * 2042 + "/",
]


@pytest.mark.parametrize(("text", "stored"), ACCEPTED.items())
def test_a_url_that_all_read_alike_is_kept_as_written(text: str, stored: str) -> None:
    assert str(receiver_url.parse(text)) == stored


@pytest.mark.parametrize("text", REFUSED)
def test_a_url_that_could_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(BadReceiverUrl):
        receiver_url.parse(text)


@pytest.mark.parametrize("text", [text for text in ACCEPTED if text != ""])
def test_the_client_that_dials_reads_the_same_host_and_port(text: str) -> None:
    judged = receiver_url.parse(text)
    dialled = URL(str(judged))
    assert (dialled.raw_host, dialled.port) == (judged.host, judged.port)


@given(st.text(alphabet=st.sampled_from("htps:/@[]%.\\#?0127xaAéⓛ。-_ \n"), max_size=30).map("http://".__add__))
def test_whatever_is_accepted_is_dialled_where_it_was_judged(text: str) -> None:
    try:
        judged = receiver_url.parse(text)
    except BadReceiverUrl:
        return
    dialled = URL(str(judged))
    assert (dialled.raw_host, dialled.port, dialled.user) == (judged.host, judged.port, None)
    assert str(receiver_url.parse(str(judged))) == str(judged)


def test_the_cap_on_simultaneous_deliveries_sees_the_port_that_is_not_written() -> None:
    assert receiver_url.parse("https://example.com/").authority == "example.com:443"
    assert receiver_url.parse("http://[2606:4700::1]/").authority == "[2606:4700::1]:80"
