"""Programs that people connect, and what a person has answered them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounts.models import DIGEST_LENGTH, KEY_NAME_LENGTH, ApiKey

ADDRESS_LENGTH = 500
SCOPES_LENGTH = 60
CHALLENGE_LENGTH = 128


class OAuthClient(models.Model):
    """A program, as its document describes it. The address of the document is its id."""

    id = models.CharField(primary_key=True, max_length=ADDRESS_LENGTH)
    name = models.CharField(max_length=KEY_NAME_LENGTH)
    redirect_uris = ArrayField(models.CharField(max_length=ADDRESS_LENGTH), help_text="Where people may be sent back.")
    grant_types = ArrayField(models.CharField(max_length=SCOPES_LENGTH))
    fetched_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "OAuth client"

    def __str__(self) -> str:
        return self.name


class OAuthGrant(models.Model):
    """One request of a program for a key, from the person's answer, or the code on a device, to the key.

    Codes are stored as digests. An answer without limits is a no.
    """

    digest = models.CharField(primary_key=True, max_length=DIGEST_LENGTH, editable=False)
    user_code_digest = models.CharField(max_length=DIGEST_LENGTH, null=True, unique=True, editable=False)
    client_id = models.CharField(max_length=ADDRESS_LENGTH)
    client_name = models.CharField(max_length=KEY_NAME_LENGTH)
    scope = models.CharField(max_length=SCOPES_LENGTH, blank=True, help_text="What the program asked for.")
    redirect_uri = models.CharField(max_length=ADDRESS_LENGTH, blank=True)
    code_challenge = models.CharField(max_length=CHALLENGE_LENGTH, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    limits = models.JSONField(null=True, help_text="The limits of the key, as `POST /keys` takes them.")
    answered_at = models.DateTimeField(null=True)
    asked_at = models.DateTimeField(help_text="When the program last asked for the key.", null=True)
    expires_at = models.DateTimeField(db_index=True)
    key = models.ForeignKey(ApiKey, null=True, on_delete=models.CASCADE, related_name="+")

    class Meta:
        verbose_name = "OAuth grant"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(key__isnull=True) | models.Q(limits__isnull=False), name="oauth_key_needs_limits"
            ),
            models.CheckConstraint(
                condition=models.Q(answered_at__isnull=True) | models.Q(user__isnull=False),
                name="oauth_answer_has_user",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.client_name} at {self.expires_at:%Y-%m-%d %H:%M}"
