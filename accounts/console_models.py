"""What the console knows of an operator's sign-in: sessions, second factors, and who they are at an OIDC provider."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from django.conf import settings
from django.db import models

from config.crypto import EncryptedJson, EncryptedText
from config.ids import new_id

ID_LENGTH = 40
NAME_LENGTH = 60
ADDRESS_LENGTH = 64
DIGEST_LENGTH = 64
CREDENTIAL_LENGTH = 1_364  # the longest id that WebAuthn allows, 1,023 bytes, in base64
PROVIDER_LENGTH = 255


class FactorKind(models.TextChoices):
    APP = "app", "authenticator app"
    PASSKEY = "passkey", "passkey"


class Proof(models.TextChoices):
    """With what a session was confirmed after the password."""

    NONE = "", "password only"
    APP = "app", "authenticator app"
    PASSKEY = "passkey", "passkey"
    RECOVERY = "recovery", "recovery code"
    PROVIDER = "provider", "OIDC provider"


class ConsoleSession(models.Model):
    """One sign-in of an operator to the console. Django's session has this row's id, and opens nothing without it."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "cns"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="console_sessions")
    created_at = models.DateTimeField("since")
    seen_at = models.DateTimeField("last seen", help_text="Exact to a minute.")
    address = models.CharField(max_length=ADDRESS_LENGTH, blank=True, help_text="Where the last request came from.")
    client = models.CharField("browser", max_length=NAME_LENGTH, blank=True)
    proof = models.CharField("second factor", max_length=10, choices=Proof, blank=True)
    confirmed_at = models.DateTimeField(help_text="When the person last proved who they are.")
    # What open pages of this session wait for: challenges, and the secret of an app that is being added.
    pending = EncryptedJson(default=dict, editable=False)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["-created_at", "-id"], name="console_session_newest"),
        ]

    def __str__(self) -> str:
        return self.id


class Factor(models.Model):
    """A second factor of an operator.

    `secret` is an app's secret or a passkey's public key. `counter` is the last time step of an app whose code was
    used, or a passkey's own counter.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "fac"), editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="factors")
    kind = models.CharField(max_length=10, choices=FactorKind)
    name = models.CharField(max_length=NAME_LENGTH)
    secret = EncryptedText(editable=False)
    credential = models.CharField(max_length=CREDENTIAL_LENGTH, unique=True, null=True, editable=False)
    counter = models.BigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField("added")
    used_at = models.DateTimeField("last used", null=True, blank=True)

    class Meta:
        verbose_name = "second factor"
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name}"


class RecoveryCode(models.Model):
    """One of the codes for a person who has lost all factors. Only its digest is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, editable=False)
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"recovery code {self.pk}"


class WrongFactor(models.Model):
    """One wrong code of a person who had given the right password. Kept for a day, because it counts that long."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.user_id} at {self.at:%Y-%m-%d %H:%M}"


class ProviderIdentity(models.Model):
    """Who an operator is at the OIDC provider. `gives_roles`: the provider's groups say which roles the person has."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_identity")
    issuer = models.CharField(max_length=PROVIDER_LENGTH)
    subject = models.CharField(max_length=PROVIDER_LENGTH)
    gives_roles = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "provider identities"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one_person_per_subject")
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"
