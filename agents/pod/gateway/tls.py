"""TLS for the management listener, with the certificate that the control plane issued for this pod."""

from __future__ import annotations

import os
import ssl

from agents.runtimes.base import Identity


def server_context(identity: Identity) -> ssl.SSLContext:
    """The TLS context of the server. The ssl library reads keys from files only, so the key is written to a file in
    memory, which is closed as soon as the key was read.
    Until then no other process can open the file, because this program forbade that before it got the key
    (agents/pod/hardening.py).
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # every call of the control plane is a new TLS session
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(f"{identity.key}{identity.certificate}".encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    return context
