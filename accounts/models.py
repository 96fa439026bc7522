"""People, their sessions, their API keys, and the codes with which they sign in."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Self, TypedDict

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.expressions import Combinable
from django.utils import timezone

from accounts import console_models, mailbox  # noqa: F401  # the console's tables are of this app too
from accounts.helping.models import PersonNote, StaffLook
from accounts.scopes import CredentialLimits, Scope
from config.crypto import EncryptedJson, EncryptedText
from config.ids import new_id

__all__ = [
    "ApiKey",
    "Attribution",
    "IdempotentReply",
    "Letter",
    "MailServer",
    "Mailed",
    "PersonNote",
    "Session",
    "SignInCode",
    "StaffLook",
    "Suspension",
    "User",
    "WrongTry",
]

ID_LENGTH = 40
DIGEST_LENGTH = 64
KEY_NAME_LENGTH = 60
KEY_PREFIX_LENGTH = 12
SCOPE_LENGTH = 8
SUSPENSION_REASON_LENGTH = 500
SUBJECT_LENGTH = 200
CLIENT_LENGTH = 60
NOWHERE = "deleted.invalid"  # a domain that never gets mail (RFC 2606)
LANG_LENGTH = 8


class Attribution(TypedDict):
    """Where a person came from, as their browser reported at sign-in."""

    anon_id: str
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    referrer: str | None


class UserManager(BaseUserManager["User"]):
    """Finds and creates users by the canonical form of their address."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create a user. Without a password the user can sign in only with mailed codes, and never to the admin."""
        user = self.model(email=mailbox.canonical(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        return self.create_user(email, password, **{**fields, "is_staff": True, "is_superuser": True})

    def get_by_natural_key(self, username: str | None) -> User:
        try:
            return self.get(email=mailbox.canonical(username or ""))
        except mailbox.NotAnAddress as error:
            raise self.model.DoesNotExist from error


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Operators also have a password, which only the admin uses."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "usr"), editable=False)
    email = models.CharField(
        "e-mail", max_length=mailbox.MAX_LENGTH, unique=True, error_messages={"unique": "this address has an account"}
    )
    is_active = models.BooleanField(
        default=True,
        help_text="Off while the account is suspended: requests with the person's keys and sessions then get 401.",
    )
    is_staff = models.BooleanField(default=False, help_text="The person may sign in to the admin, with a password.")
    attribution = models.JSONField(null=True, blank=True, help_text="Where the person first came from.")
    lang = models.CharField(
        "language",
        max_length=LANG_LENGTH,
        default="en",
        db_default="en",
        help_text="The language of the last sign-in, or the one that the person chose.",
    )
    lang_chosen = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether the person chose the language. Then a sign-in does not change it.",
    )
    muted_mails = ArrayField(
        models.CharField(max_length=40), null=True, blank=True, help_text="The mails that the person does not want."
    )
    created_at = models.DateTimeField(default=timezone.now)
    closed_at = models.DateTimeField(null=True, blank=True, help_text="When the deletion of the account became final.")

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        ordering = ("-created_at", "-id")
        permissions = (("assign_roles", "Can say who has which role in the console"),)
        indexes: ClassVar[list[models.Index]] = [
            # People whose agents may not run: queried every two seconds.
            models.Index(fields=["id"], condition=models.Q(is_active=False), name="user_suspended")
        ]

    def clean(self) -> None:
        self.email = mailbox.canonical(self.email)

    def __str__(self) -> str:
        return self.email

    @property
    def is_erased(self) -> bool:
        """Whether the person has deleted the account. Its address is then replaced by one that nobody has."""
        return self.email.endswith(f"@{NOWHERE}")


class Suspension(models.Model):
    """One suspension of an account for abuse. Kept for good: the term of its agents stands still from `suspended_at`
    on.

    Only agents/suspension.py writes these rows, and sets `User.is_active` with them.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "sus"), editable=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="suspensions")
    reason = models.CharField(max_length=SUSPENSION_REASON_LENGTH, help_text="For operators; the person never sees it.")
    suspended_at = models.DateTimeField()
    suspended_by = models.CharField(max_length=80)
    restored_at = models.DateTimeField(null=True, blank=True)
    restored_by = models.CharField(max_length=80, blank=True)

    class Meta:
        ordering = ("-suspended_at", "-id")
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["user", "-suspended_at"], name="suspension_log")]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["user"], condition=models.Q(restored_at__isnull=True), name="one_open_suspension"
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id} since {self.suspended_at:%Y-%m-%d %H:%M}"


class SessionQuerySet(models.QuerySet["Session"]):
    def live(self, *, now: datetime | Combinable) -> Self:
        return self.filter(expires_at__gt=now)


class Session(models.Model):
    """One sign-in with a mailed code. The token itself is never stored."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "ses"), editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, editable=False)
    attribution = models.JSONField(null=True, blank=True, help_text="Where the person came from at this sign-in.")
    client = models.CharField(
        max_length=CLIENT_LENGTH, blank=True, db_default="", help_text="Browser and system, such as Firefox, Linux."
    )
    created_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(null=True, blank=True, help_text="Last used, exact to an hour.")
    expires_at = models.DateTimeField(db_index=True)

    objects = SessionQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return self.id


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def owned_by(self, user: User) -> Self:
        return self.filter(user=user)


class ApiKey(models.Model):
    """A long-lived credential for an agent. The secret is shown once; only its digest is stored, to find the row."""

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "key"), editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=KEY_NAME_LENGTH)
    prefix = models.CharField(max_length=KEY_PREFIX_LENGTH)
    digest = models.CharField(max_length=DIGEST_LENGTH, unique=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # The limits of the key; a key without scopes is a full one. Down to `spend_limit_usd` they never change.
    scopes = ArrayField(
        models.CharField(max_length=SCOPE_LENGTH),
        null=True,
        blank=True,
        help_text="What the key may do: read, operate, pay. Without scopes it may do what its person may do.",
    )
    agent_id = models.CharField(
        max_length=ID_LENGTH, null=True, blank=True, help_text="The only agent that the key may see."
    )
    expires_at = models.DateTimeField(null=True, blank=True, help_text="When the key stops working by itself.")
    spend_limit_usd = models.DecimalField(
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        verbose_name="spend limit (USD)",
        help_text="The most that the orders of the key may cost together.",
    )
    # What model calls of turns may cost that the key starts. These two may change (agents/spending/key_limits.py).
    day_usd = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, verbose_name="model calls a day (USD)"
    )
    month_usd = models.DecimalField(
        max_digits=10, decimal_places=2, null=True, blank=True, verbose_name="model calls a month (USD)"
    )
    told = models.JSONField(
        default=dict, db_default={}, blank=True, help_text="Which of these limits the owner was told about, and when."
    )

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        verbose_name = "API key"
        indexes: ClassVar[list[models.Index]] = [
            models.Index("user", models.F("created_at").desc(), models.F("id").desc(), name="apikey_newest_first")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def limits(self) -> CredentialLimits | None:
        """None for a full key."""
        if self.scopes is None:
            return None
        return CredentialLimits(scopes=frozenset(map(Scope, self.scopes)), agent_id=self.agent_id)

    @property
    def has_model_limits(self) -> bool:
        return self.day_usd is not None or self.month_usd is not None


class Mailed(models.Model):
    """A row that becomes a mail. It waits while `mail_due_at` is set (accounts/mailing.py)."""

    mail_due_at = models.DateTimeField(null=True, blank=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class MailServer(models.Model):
    """The only row of its table: since when the mail server has been failing. Only `accounts/mailing.py` writes it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    failed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"failing since {self.failed_at}" if self.failed_at else "taking mail"


class SignInCode(Mailed):
    """The newest code that a household has requested for an e-mail address, and that household's earlier mails and
    sign-ins.

    A household is an IPv4 address or an IPv6 /64, stored as a digest under SECRET_KEY. A new code overwrites the row,
    so a household never has two valid codes for an address. `used_at` ends a code. The encrypted digits are stored only
    until they are mailed. After a sign-in the household is familiar for a while, and the row is kept for that.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "cod"), editable=False)
    email = models.CharField("e-mail", max_length=mailbox.MAX_LENGTH)
    household = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    inbox = models.CharField(max_length=mailbox.MAX_LENGTH, editable=False)
    digest = models.CharField(max_length=DIGEST_LENGTH, blank=True, editable=False)
    sealed = EncryptedText(null=True, editable=False)
    lang = models.CharField(max_length=LANG_LENGTH)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    mails_at = ArrayField(models.DateTimeField(), default=list, editable=False)
    signed_in_at = models.DateTimeField(
        null=True, blank=True, help_text="When the last correct code came from this address."
    )
    forget_at = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "accounts_householdcode"  # accounts_signincode was the name of an older table
        ordering = ("-created_at", "-id")
        verbose_name = "sign-in code"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["email", "household"], name="one_code_per_household")
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["mail_due_at"], condition=models.Q(mail_due_at__isnull=False), name="household_mail"),
            models.Index(fields=["inbox", "household"], name="household_inbox"),
        ]

    def __str__(self) -> str:
        return self.email


class WrongTry(models.Model):
    """One wrong code for an e-mail address. Kept for a day, because it counts that long.

    A network is an IPv4 address or an IPv6 /48, stored as a digest like a household.
    """

    email = models.CharField("e-mail", max_length=mailbox.MAX_LENGTH)
    household = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    network = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    strange = models.PositiveSmallIntegerField(
        help_text="How many codes, requested from other addresses, it was compared with."
    )
    at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("-at", "-id")
        verbose_name_plural = "wrong sign-in codes"
        indexes: ClassVar[list[models.Index]] = [models.Index(fields=["email", "at"], name="wrong_try_email")]

    def __str__(self) -> str:
        return f"{self.email} at {self.at:%Y-%m-%d %H:%M}"


class Letter(Mailed):
    """A mail that must not be lost: written in the transaction of the event that it reports, and mailed after it.

    It is due until it is mailed. A letter that is neither due nor mailed was given up.
    """

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=partial(new_id, "ltr"), editable=False)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="letters")
    email = models.CharField("e-mail", max_length=mailbox.MAX_LENGTH)
    subject = models.CharField(max_length=SUBJECT_LENGTH)
    text = models.TextField()
    html = models.TextField(null=True, blank=True)
    lang = models.CharField("language", max_length=LANG_LENGTH)
    written_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ("-written_at", "-id")
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["mail_due_at"], condition=models.Q(mail_due_at__isnull=False), name="letter_mail_due"),
            models.Index(fields=["user", "-written_at", "-id"], name="letter_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.email})"


class IdempotentReply(models.Model):
    """The reply to a request with an Idempotency-Key, or the reservation of a request that still runs."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    method = models.CharField(max_length=8)
    path = models.CharField(max_length=255)
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=DIGEST_LENGTH, editable=False)
    created_at = models.DateTimeField(db_index=True)
    reserved_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    reply = EncryptedJson(null=True, editable=False)

    class Meta:
        verbose_name_plural = "idempotent replies"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(fields=["user", "method", "path", "key"], name="one_reply_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.key}"
