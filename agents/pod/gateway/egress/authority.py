"""The certificate authority of one agent's gateway, for hosts whose TLS the broker ends.

Its key is made from the agent's ticket key, which only gateway and control plane have. So both know the same authority
without storing it, and a gateway that starts again has the one that the engine trusts already.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import ssl
from collections import OrderedDict
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# As in agents/runtimes/certificates.py: no clock of a pod may decide whether a certificate is valid.
VALID_FROM = datetime(2000, 1, 1, tzinfo=UTC)
VALID_UNTIL = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
MOST_HOSTS = 256  # certificates that are kept
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Egress broker of this agent")])
_P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@functools.lru_cache(maxsize=256)
def certificate_of(ticket_key: str) -> str:
    """The authority's certificate as PEM, the same at each call."""
    return _pem(_certificate(_key(ticket_key)))


class Authority:
    def __init__(self, ticket_key: str) -> None:
        self.ticket_key = ticket_key
        self._key = _key(ticket_key)
        self._leaf_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: OrderedDict[str, ssl.SSLContext] = OrderedDict()

    def context(self, host: str, directory: str) -> ssl.SSLContext:
        """The TLS context of a server with this name. `directory` takes the certificate for a moment: OpenSSL reads it
        from a file only.
        """
        if host not in self._contexts:
            self._contexts[host] = self._made(host, directory)
            if len(self._contexts) > MOST_HOSTS:
                self._contexts.popitem(last=False)
        self._contexts.move_to_end(host)
        return self._contexts[host]

    def _made(self, host: str, directory: str) -> ssl.SSLContext:
        path = os.path.join(directory, f"leaf-{os.urandom(8).hex()}.pem")  # noqa: PTH118 # no Path, this runs at each host
        clear = serialization.NoEncryption()
        key = self._leaf_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, clear)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(key + _pem(self._leaf(host)).encode())
            context.load_cert_chain(path)
        finally:
            os.unlink(path)  # noqa: PTH108
        return context

    def _leaf(self, host: str) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(_NAME)
            .public_key(self._leaf_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(VALID_FROM)
            .not_valid_after(VALID_UNTIL)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _key(ticket_key: str) -> ec.EllipticCurvePrivateKey:
    digest = hmac.new(ticket_key.encode(), b"egress-authority", hashlib.sha512).digest()
    # 512 bits modulo the order of 256: every key is as likely as any other.
    return ec.derive_private_key(int.from_bytes(digest, "big") % (_P256_ORDER - 1) + 1, ec.SECP256R1())


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    public = key.public_key()
    raw = public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(public)
        .serial_number(int.from_bytes(hashlib.sha256(raw).digest()[:16], "big") >> 1 | 1)
        .not_valid_before(VALID_FROM)
        .not_valid_after(VALID_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(key_cert_sign=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .sign(key, hashes.SHA256(), ecdsa_deterministic=True)
    )


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
