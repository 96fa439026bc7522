"""How the management listener shows who it is: TLS with the certificate that the control plane gave to this pod."""

from __future__ import annotations

import os
import ssl

from agents.runtimes.base import Identity


def server_context(identity: Identity) -> ssl.SSLContext:
    """The library reads keys from files alone: ours is in memory, and is closed as soon as the key was read.

    Until then nobody else can open it: this program forbade that (agents/pod/hardening.py) before it knew the key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # every call of the control plane is a session of its own
    descriptor = os.memfd_create("identity", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(f"{identity.key}{identity.certificate}".encode())
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    return context
