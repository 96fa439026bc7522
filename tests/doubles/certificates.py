"""Certificates for servers on loopback: good ones, and every kind that a client must refuse."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Key = ec.EllipticCurvePrivateKey


class Certificates:
    """A test certificate authority. Its certificate is in the file `authority`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._issuer = _name("test authority")
        certificate = _builder(self._issuer, self._issuer, self._key).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        self.served = directory / "server.pem"
        self.authority = directory / "authority.pem"
        self.authority.write_bytes(
            certificate.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )

    def server(self, host: str, *others: str, expired: bool = False, self_signed: bool = False) -> ssl.SSLContext:
        """The TLS context of a server for these names. Its key and certificate are also in the file `served`."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer, signer = (_name(host), key) if self_signed else (self._issuer, self._key)
        certificate = _builder(_name(host), issuer, key, expired=expired).add_extension(
            x509.SubjectAlternativeName([_host(name) for name in (host, *others)]), critical=False
        )
        self.served.write_bytes(
            _written(key) + certificate.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.served)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(self.authority)
        return context

    def client(self, name: str) -> tuple[bytes, bytes]:
        """A client certificate with this name, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _builder(_name(name), self._issuer, key).sign(self._key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM), _written(key)


def _written(key: Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: Key, *, expired: bool = False) -> x509.CertificateBuilder:
    ends = datetime.now(UTC) + timedelta(days=-1 if expired else 1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(ends - timedelta(days=2))
        .not_valid_after(ends)
    )
