"""Which headers our proxies keep to themselves."""

from __future__ import annotations

from multidict import CIMultiDict

from agents.pod import hop_by_hop


def test_what_the_standard_lists_is_never_passed_on() -> None:
    """RFC 9110, section 7.6.1, says which fields an intermediary removes even if Connection does not name them."""
    listed = {"proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade"}
    assert hop_by_hop.names_in(CIMultiDict()) >= {"connection", *listed}


def test_a_login_at_a_proxy_is_not_passed_on() -> None:
    assert hop_by_hop.names_in(CIMultiDict()) >= {"proxy-authorization", "proxy-authenticate"}


def test_what_the_sender_names_in_connection_is_not_passed_on() -> None:
    headers = CIMultiDict([("connection", "close,X-One "), ("Connection", "x-TWO"), ("X-Three", "3")])
    names = hop_by_hop.names_in(headers)
    assert names >= {"x-one", "x-two"}
    assert "x-three" not in names
