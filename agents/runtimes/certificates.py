"""How the control plane recognises a pod's gateway: each agent has its own certificate.
The certificate is signed with its own key, and a session trusts only this certificate. So no other program can answer
in the gateway's place, even if it has the gateway's port: the TLS handshake fails before a byte of the request is sent.
"""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Any

import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from requests.adapters import HTTPAdapter

from agents.runtimes.base import Identity

# The addresses of gateways change, so all certificates have this name. No public authority can issue a certificate for
# it.
NAME = "gateway.agentpods.internal"
# The clock must not decide whether a pod can be reached, so the certificates do not expire. RFC 5280 section 4.1.2.5:
# the last moment means "no end".
VALID_FROM = datetime(2000, 1, 1, tzinfo=UTC)
VALID_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def make() -> Identity:
    """A new private key (ECDSA, P-256) with a self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    clear = serialization.NoEncryption()
    return Identity(
        key=key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, clear).decode(),
        certificate=certificate.public_bytes(serialization.Encoding.PEM).decode(),
    )


def session(certificate: str) -> requests.Session:
    """A session that talks only to the holder of this certificate's key: without plain HTTP and without a proxy."""
    made = requests.Session()
    made.trust_env = False
    made.adapters.clear()
    made.mount("https://", _Pinned(certificate))
    return made


def context(certificate: str) -> ssl.SSLContext:
    """A TLS context that trusts only this certificate. `PROTOCOL_TLS_CLIENT` checks the name and loads
    no authorities.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=certificate)
    return context


class _Pinned(HTTPAdapter):
    def __init__(self, certificate: str) -> None:
        self._certificate = certificate
        super().__init__()

    def init_poolmanager(self, *given: Any, **more: Any) -> None:
        super().init_poolmanager(*given, **more, ssl_context=context(self._certificate), server_hostname=NAME)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Do nothing: the library would add the public authorities to the trusted ones."""
