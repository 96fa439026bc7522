"""An OpenID Connect provider on loopback: discovery, authorization with PKCE, tokens signed with RS256, userinfo.

`person` is who is signed in there. `lies` names what it does wrong, such as "nonce", "audience" or "alg none".
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

CLIENT, SECRET = "agentpods", "a secret of the client/+="


class OidcProvider:
    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.strange_key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
        self.person: dict[str, Any] = {"sub": "u1", "email": "ann@example.com", "email_verified": True}
        self.userinfo: dict[str, Any] | None = None  # claims that are not in the ID token
        self.lies: str = ""
        self.asked: dict[str, dict[str, str]] = {}  # by code: the parameters with which the browser came
        self._http = _ProviderHttp(("127.0.0.1", 0), _ProviderHandler)
        self._http.double = self
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def claims(self, asked: dict[str, str]) -> dict[str, Any]:
        now = int(time.time())
        told = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"], **self.person}
        if "max_age" in asked:
            told["auth_time"] = now
        lies: dict[str, dict[str, Any]] = {
            "nonce": {"nonce": "another"},
            "audience": {"aud": "another client"},
            "two audiences": {"aud": [CLIENT, "another client"]},
            "party": {"azp": "another client"},
            "issuer": {"iss": "https://other.example"},
            "expired": {"iat": now - 7200, "exp": now - 3600},
            "of tomorrow": {"iat": now + 86_400, "exp": now + 90_000},
            "expires in words": {"exp": "tomorrow"},
            "not asked again": {"auth_time": now - 86_400},
            "no subject": {"sub": ""},
        }
        told.update(lies.get(self.lies, {}))
        return told

    def id_token(self, asked: dict[str, str]) -> str:
        claims, header = self.claims(asked), {"alg": "RS256", "kid": "one"}
        if self.lies == "alg none":
            return f"{_text({'alg': 'none'})}.{_text(claims)}."
        if self.lies == "public key as secret":
            public = OctKey.import_key(self.key.as_pem(private=False))
            return str(jwt.encode({"alg": "HS256", "kid": "one"}, claims, public))
        if self.lies == "another key":
            return str(jwt.encode(header, claims, self.strange_key))
        token = str(jwt.encode(header, claims, self.key))
        if self.lies == "changed":
            head, _, signature = token.split(".")
            return f"{head}.{_text({**claims, 'sub': 'u2'})}.{signature}"
        return token


class _ProviderHttp(ThreadingHTTPServer):
    daemon_threads = True
    double: OidcProvider


class _ProviderHandler(BaseHTTPRequestHandler):
    server: _ProviderHttp

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        parts, double = urlsplit(self.path), self.server.double
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/.well-known/openid-configuration":
            self._describe()
        elif parts.path == "/keys":
            self._say(200, {"keys": [double.key.as_dict(private=False)]})
        elif parts.path == "/userinfo":
            self._say(200, {"sub": double.person["sub"], **(double.userinfo or {})})
        elif parts.path == "/authorize" and asked.get("client_id") == CLIENT:
            code = secrets.token_urlsafe(16)
            double.asked[code] = asked
            back = urlencode({"code": code, "state": asked["state"], "iss": double.issuer})
            self._lead(f"{asked['redirect_uri']}?{back}")
        else:
            self._say(404, {})

    def do_POST(self) -> None:
        """A token for a code, once, for the client that knows its secret and the verifier of the code's challenge."""
        length = int(self.headers["Content-Length"])
        given = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
        double = self.server.double
        asked = double.asked.pop(given.get("code", ""), None)
        basic = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode().split(":")
        hashed = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(hashed).decode().rstrip("=")
        if asked is None or challenge != asked["code_challenge"] or asked["code_challenge_method"] != "S256":
            self._say(400, {"error": "invalid_grant"})
        elif [unquote(one) for one in basic] != [CLIENT, SECRET] or given["redirect_uri"] != asked["redirect_uri"]:
            self._say(401, {"error": "invalid_client"})
        elif double.lies == "endless":
            self._endless()
        elif double.lies == "redirect":
            self._lead(f"{double.issuer}/keys")
        else:
            access = {"access_token": "at", "token_type": "Bearer", "expires_in": 60}
            self._say(200, {**access, "id_token": double.id_token(asked)})

    def _describe(self) -> None:
        issuer = self.server.double.issuer
        told = {
            "issuer": "https://other.example" if self.server.double.lies == "described as another" else issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            "userinfo_endpoint": f"{issuer}/userinfo",
        }
        self._say(200, told)

    def _endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 65_536)
        except OSError:
            return

    def _lead(self, place: str) -> None:
        self.send_response(302)
        self.send_header("Location", place)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _say(self, status: int, said: dict[str, Any]) -> None:
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _text(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
