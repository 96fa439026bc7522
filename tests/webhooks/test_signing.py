from __future__ import annotations

from webhooks import signing


def test_the_signature_is_the_hmac_sha256_of_the_body_in_lowercase_hex() -> None:
    # The test vector of RFC 4231, section 4.3.
    assert signing.signature(b"what do ya want for nothing?", "Jefe") == (
        "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )


def test_the_secret_of_before_signs_a_header_of_its_own() -> None:
    signed = signing.headers(event_id="evt_1", event_type="test", body=b"{}", secret="new", previous_secret="old")
    assert signed["X-Service-Signature"] == signing.signature(b"{}", "new")
    assert signed["X-Service-Signature-Previous"] == signing.signature(b"{}", "old")


def test_without_a_rotation_there_is_one_signature() -> None:
    signed = signing.headers(event_id="evt_1", event_type="test", body=b"{}", secret="new", previous_secret=None)
    assert "X-Service-Signature-Previous" not in signed
