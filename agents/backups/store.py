"""The store of repositories: a directory, or a bucket of an S3-compatible service. Imports no models of Django."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from obstore.store import LocalStore, ObjectStore, S3Store

_S3 = re.compile(r"s3:(https?://[^/\s]+)/([^/\s]+)(?:/(\S*?))?/?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    root: Path

    def objects(self) -> ObjectStore:
        return LocalStore(self.root, mkdir=True)

    def repository(self, agent_id: str) -> tuple[str, dict[str, str]]:
        """The name of this agent's repository for restic, and the environment variables that restic needs for it."""
        return str(self.root / agent_id), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    url: str
    bucket: str
    prefix: str
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)

    def objects(self) -> ObjectStore:
        return S3Store(
            self.bucket,
            prefix=self.prefix or None,
            endpoint=self.url,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            virtual_hosted_style_request=False,
            client_options={"allow_http": self.url.startswith("http://"), "timeout": "120s"},
        )

    def repository(self, agent_id: str) -> tuple[str, dict[str, str]]:
        path = "/".join(part for part in (self.url, self.bucket, self.prefix, agent_id) if part)
        keys = {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}
        return f"s3:{path}", {**keys, "AWS_DEFAULT_REGION": self.region}


Store = Directory | Bucket


def configured() -> Store | None:
    """The store that BACKUP_STORE names; None if it is empty. Raises ImproperlyConfigured when it is neither a path nor
    a bucket."""
    text = settings.BACKUP_STORE
    if not text:
        return None
    if text.startswith("/"):
        return Directory(root=Path(text))
    found = _S3.fullmatch(text)
    if found is None:
        raise ImproperlyConfigured(
            f"BACKUP_STORE={text!r} must be an absolute path, or like s3:https://s3.example.com/bucket/prefix"
        )
    return Bucket(
        url=found[1],
        bucket=found[2],
        prefix=found[3] or "",
        region=settings.BACKUP_REGION,
        access_key=settings.BACKUP_ACCESS_KEY,
        secret_key=settings.BACKUP_SECRET_KEY,
    )
