"""How an engine is told of the gateway's egress broker: by the usual variables for proxies and for trusted authorities.

An engine whose agent does not use the broker gets none of them. The address is that of the key proxy, with its token;
calls of the pod's own addresses go round the broker.
"""

from __future__ import annotations

import ssl
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from agents.engines.base import Launch, ProxyAccess
from agents.runtimes.base import PodConfig

_OWN = "127.0.0.1,localhost,::1"
# Where Linux distributions keep the public authorities.
_PUBLIC = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
# Programs that trust only what is in this file, so it has the public authorities too.
_BUNDLE_NAMES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE")


def walled(launch: Launch, *ports: int) -> Launch:
    """The launch of an engine whose processes may connect to these ports alone."""
    side = replace(launch.side, ports=ports) if launch.side else None
    return replace(launch, ports=ports, side=side)


def through_broker(launch: Launch, config: PodConfig, llm: ProxyAccess, *, directory: Path) -> Launch:
    """The launch of an engine that uses the broker, if its agent does. `directory` takes the authorities' files."""
    if not config.egress_authority:
        return launch
    own, bundle, public = directory / "egress-authority.pem", directory / "egress-bundle.pem", _public()
    files = {own: config.egress_authority, **({bundle: public + config.egress_authority} if public else {})}
    env = _environment(llm) | {"NODE_EXTRA_CA_CERTS": str(own)}
    env |= dict.fromkeys(_BUNDLE_NAMES, str(bundle)) if public else {}
    side = replace(launch.side, env={**launch.side.env, **env}) if launch.side else None
    return replace(launch, files={**launch.files, **files}, env={**launch.env, **env}, side=side)


def _environment(llm: ProxyAccess) -> dict[str, str]:
    parts = urlsplit(llm.url)
    address = f"http://pod:{llm.token}@{parts.netloc}"
    found: dict[str, str] = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "NO_PROXY": _OWN}
    # Programs differ in which case they read. Node reads these only if it is told so.
    return {**found, **{name.lower(): value for name, value in found.items()}, "NODE_USE_ENV_PROXY": "1"}


def _public() -> str:
    """The public authorities of this machine as PEM; "" if they are not found."""
    for path in (ssl.get_default_verify_paths().cafile, *_PUBLIC):
        if path and Path(path).is_file():
            return Path(path).read_text(encoding="utf-8", errors="replace").rstrip() + "\n"
    return ""
