"""Accounts in the admin: operators find and suspend people, but never delete them. Secrets are never shown."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from accounts import console_sessions, keys, roles
from accounts.admin_steps import DeleteGroups, EndConsoleSessions, EndSessions, ResendLetters, RevokeKeys
from accounts.console import FOUND
from accounts.console_models import ConsoleSession, Factor
from accounts.helping import admin as helping_admin  # noqa: F401  # registers notes and looks
from accounts.helping import looks
from accounts.helping.admin_steps import AddNote, SeeAsPerson
from accounts.helping.sections import SECTIONS
from accounts.mail_admin import WithMails
from accounts.models import ApiKey, IdempotentReply, Letter, Session, SignInCode, Suspension, User, WrongTry
from config.admin_sections import RepairButton, WithSections
from config.admin_steps import WithSteps
from config.long_lists import WhenFilter, one_of
from config.read_only import ReadOnly


def _closed(user: User) -> str:
    return "The account is deleted." if user.closed_at else ""


REPAIRS = [
    RepairButton(step=SeeAsPerson(), model=User, about="Their pages, read-only, recorded.", why_not=looks.refusal),
    RepairButton(step=AddNote(), model=User, label="Add a note", about="For other operators.", why_not=_closed),
]
RIGHTS_OF_SUPERUSERS = ("is_superuser", "user_permissions")
RIGHTS = ("is_staff", "groups", *RIGHTS_OF_SUPERUSERS)


class FactorInline(ReadOnly, admin.TabularInline[Factor, User]):
    model = Factor
    fields = ("name", "kind", "created_at", "used_at")
    readonly_fields = fields
    verbose_name_plural = "second factors for the console"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Factor]:
        return super().get_queryset(request).defer("secret")


class NewUserForm(AdminUserCreationForm[User]):
    class Meta:
        model = User
        fields = ("email",)
        field_classes: ClassVar[dict[str, Any]] = {}


class UserForm(UserChangeForm[User]):
    class Meta:
        model = User
        fields = "__all__"
        field_classes: ClassVar[dict[str, Any]] = {}


@admin.register(User)
class UserAdmin(WithSections, BaseUserAdmin[User]):
    form = UserForm
    add_form = NewUserForm
    list_display = ("email", "id", "is_active", "is_staff", "created_at")
    list_filter = ("is_active", "is_staff", "is_superuser", ("created_at", WhenFilter))
    search_fields = ("email", "id", "api_keys__id", "^api_keys__prefix")
    search_help_text = "E-mail, user id, key id, or the first 12 characters of a key"
    ordering = ("-created_at", "-id")
    readonly_fields = ("id", "is_active", "created_at", "last_login", "lang", "muted_mails", "closed_at", "attribution")
    filter_horizontal = ("groups", "user_permissions")
    inlines = (FactorInline,)
    pages = (AddNote(), SeeAsPerson())
    sections = SECTIONS
    repairs = REPAIRS
    fieldsets = (
        (
            None,
            {"fields": ("id", "email", "is_active", "lang", "muted_mails", "created_at", "closed_at", "attribution")},
        ),
        ("Console", {"fields": ("password", "last_login", "is_staff", "is_superuser", "groups", "user_permissions")}),
    )
    add_fieldsets = ((None, {"classes": ("wide",), "fields": ("email", "usable_password", "password1", "password2")}),)

    def get_inlines(self, request: HttpRequest, obj: User | None) -> Any:
        return () if obj is None else self.inlines

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Superusers change all rights. Owners change roles, but not their own and not a superuser's.

        An e-mail address never moves to another person.
        """
        fields = [*super().get_readonly_fields(request, obj)]
        if obj is not None:
            fields.append("email")
        if request.user.is_superuser:
            return fields
        return [*fields, *(RIGHTS_OF_SUPERUSERS if _assigns(request, obj) else RIGHTS)]

    def has_note_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.add_personnote")

    def has_look_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(looks.MAY_LOOK)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_assign_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(roles.ASSIGN)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> Any:
        """Refuse to set another person's password, except for superusers, and for owners who set no superuser's.

        Without this, staff who may edit people could take over the account of a superuser.
        """
        own = unquote(id) == request.user.pk
        if not (own or request.user.is_superuser or _assigns(request, self.get_object(request, unquote(id)))):
            self.message_user(request, "Only superusers set other people's passwords.", messages.ERROR)
            return redirect(reverse("admin:accounts_user_changelist"))
        answer = super().user_change_password(request, id, form_url)
        if request.method == "POST" and answer.status_code == FOUND and (own_session := console_sessions.of(request)):
            console_sessions.of_user(unquote(id)).exclude(pk=own_session.pk).delete()
        return answer


def _assigns(request: HttpRequest, user: User | None) -> bool:
    """Whether this operator, who is no superuser, may say which roles this person has."""
    other = user is not None and user.pk != request.user.pk and not user.is_superuser
    return other and request.user.has_perm(roles.ASSIGN)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnly, WithSteps):
    list_display = ("id", "name", "masked", "may", "user", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = (
        ("revoked_at", admin.EmptyFieldListFilter),
        ("scopes", admin.EmptyFieldListFilter),
        "created_at",
        "last_used_at",
        "expires_at",
    )
    list_select_related = ("user",)
    search_fields = ("id", "^prefix", "name", "user__email", "user__id")
    fields = (
        "id",
        "user",
        "name",
        "masked",
        "may",
        "agent_id",
        "spend_limit_usd",
        "day_usd",
        "month_usd",
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    steps = (RevokeKeys(),)

    @admin.display(description="secret")
    def masked(self, key: ApiKey) -> str:
        return masked(key)

    @admin.display(description="may")
    def may(self, key: ApiKey) -> str:
        return keys.told(key)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apikey")


@admin.register(Session)
class SessionAdmin(ReadOnly, WithSteps):
    steps = (EndSessions(),)
    list_display = ("id", "user", "client", "created_at", "seen_at", "expires_at")
    list_filter = ("created_at", "expires_at")
    list_select_related = ("user",)
    search_fields = ("id", "user__email", "user__id")
    fields = (*list_display, "attribution")

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.delete_session")


@admin.register(ConsoleSession)
class ConsoleSessionAdmin(ReadOnly, WithSteps):
    """Who is signed in to the console. Sessions of the pages and of the API are in another list."""

    list_display = ("user", "created_at", "seen_at", "address", "client", "proof")
    list_filter = ("proof", "created_at", "seen_at")
    list_select_related = ("user",)
    search_fields = ("id", "user__email", "user__id", "address")
    fields = ("id", *list_display, "confirmed_at")
    steps = (EndConsoleSessions(),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ConsoleSession]:
        return super().get_queryset(request).filter(console_sessions.is_live(now=timezone.now())).defer("pending")

    def has_assign_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(roles.ASSIGN)


@admin.register(SignInCode)
class SignInCodeAdmin(ReadOnly, admin.ModelAdmin[SignInCode]):
    """When a code was mailed and used. The code itself is never shown."""

    list_display = ("email", "created_at", "expires_at", "mailed_at", "mail_attempts", "used_at", "signed_in_at")
    list_filter = (
        "created_at",
        ("mailed_at", admin.EmptyFieldListFilter),
        ("used_at", admin.EmptyFieldListFilter),
    )
    search_fields = ("email", "id")
    fields = ("id", *list_display, "mail_due_at", "lang")

    def get_queryset(self, request: HttpRequest) -> QuerySet[SignInCode]:
        return super().get_queryset(request).defer("sealed", "digest")


@admin.register(WrongTry)
class WrongTryAdmin(ReadOnly, admin.ModelAdmin[WrongTry]):
    list_display = ("email", "at", "strange")
    list_filter = ("at",)
    search_fields = ("email",)
    fields = list_display


@admin.register(Letter)
class LetterAdmin(ReadOnly, WithSteps, WithMails):
    """The mails to people, and whether they were sent. A mail that is neither due nor sent was given up."""

    list_display = ("subject", "email", "written_at", "mailed_at", "mail_due_at", "mail_attempts")
    list_filter = (
        ("mailed_at", admin.EmptyFieldListFilter),
        ("mail_due_at", admin.EmptyFieldListFilter),
        ("written_at", WhenFilter),
    )
    search_fields = ("id", "user__email", "user__id")
    search_help_text = "Id of a mail, or the e-mail or id of a person"
    sortable_by = ("written_at",)
    fields = ("id", "user", *list_display, "lang", "text")
    steps = (ResendLetters(),)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_letter")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Letter]:
        return super().get_queryset(request).defer("html")


@admin.register(IdempotentReply)
class IdempotentReplyAdmin(ReadOnly, admin.ModelAdmin[IdempotentReply]):
    list_display = ("key", "method", "path", "user", "status", "created_at")
    list_filter = (("method", one_of((one, one) for one in ("POST", "PATCH", "PUT", "DELETE"))), "created_at")
    list_select_related = ("user",)
    search_fields = ("key", "user__email", "user__id")
    fields = ("key", "method", "path", "user", "status", "created_at", "reserved_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[IdempotentReply]:
        return super().get_queryset(request).defer("reply")


@admin.register(Suspension)
class SuspensionAdmin(ReadOnly, admin.ModelAdmin[Suspension]):
    """Who was suspended, when and why. Operators suspend people in the list of users."""

    list_display = ("user", "suspended_at", "suspended_by", "reason", "restored_at", "restored_by")
    list_filter = (("restored_at", admin.EmptyFieldListFilter), "suspended_at")
    list_select_related = ("user",)
    search_fields = ("user__email", "user__id", "reason")
    fields = ("id", *list_display)


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(WithSteps):
    """Sets of rights for staff. Only superusers change them, and nobody changes the ready-made roles."""

    search_fields = ("name",)
    filter_horizontal = ("permissions",)
    steps = (DeleteGroups(),)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return bool(request.user.is_superuser) and (obj is None or obj.name not in roles.ROLES)

    has_add_permission = has_delete_permission = has_change_permission


def masked(key: ApiKey) -> str:
    return f"{key.prefix}…"
