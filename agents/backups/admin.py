"""Backups and repositories in the admin: operators see them and do not edit them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from agents.backups import drills
from agents.backups.admin_steps import RestoreBackup
from agents.backups.models import Backup, Repository
from agents.models import Desired
from config.admin_steps import WithSteps
from config.long_lists import WhenFilter
from config.read_only import WrittenByRules

MOST_AT_ONCE = 20


@admin.register(Backup)
class BackupAdmin(WithSteps, WrittenByRules):
    steps = (RestoreBackup(),)
    list_display = ("name", "agent", "kind", "stage", "taken_at", "size", "note")
    list_filter = ("stage", "kind", ("asked_at", WhenFilter))
    list_select_related = ("agent",)
    search_fields = ("agent__id", "id", "agent__user__email")
    search_help_text = "Id of an agent or a backup, or the owner's e-mail"
    ordering = ("-asked_at", "-id")
    sortable_by = ()
    exclude = ("credential",)

    def has_restore_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("agents.change_agent"))


class DrillFilter(admin.SimpleListFilter):
    title, parameter_name = "drill", "drill"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("failed", "failed"), ("well", "well"), ("none", "none yet")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        none = Q(drilled_at=None)
        wanted = {"none": none, "failed": ~none & ~Q(drill_failure=""), "well": ~none & Q(drill_failure="")}
        return queryset.filter(wanted.get(self.value() or "", Q()))


class LastBackupFilter(admin.SimpleListFilter):
    title, parameter_name = "last backup", "backup"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("failed", "failed"), ("well", "well")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        failing = queryset.filter(failures__gt=0).exclude(agent__desired=Desired.DELETED)
        wanted = {"failed": failing, "well": queryset.filter(failures=0)}
        return wanted.get(self.value() or "", queryset)


@admin.register(Repository)
class RepositoryAdmin(WrittenByRules):
    sortable_by = ("failures", "drilled_at")
    list_display = ("agent", "made_at", "failures", "failure", "failed_at", "drilled_at", "drill", "expires_at")
    list_filter = (LastBackupFilter, DrillFilter)
    list_select_related = ("agent",)
    search_fields = ("agent__id", "failure", "drill_failure")
    exclude = ("password", "credential")
    actions = ("drill_repositories",)

    def has_drill_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("agents.change_repository"))

    @admin.display(description="last drill", ordering="drill_failure")
    def drill(self, repository: Repository) -> str:
        return repository.drill_failure or repository.drill_said or "-"

    @admin.action(description="Check now (restic check, and a drill of the newest backup)", permissions=["drill"])
    def drill_repositories(self, request: HttpRequest, repositories: QuerySet[Repository]) -> None:
        for repository in repositories.filter(expires_at=None)[:MOST_AT_ONCE]:
            drills.ask(repository)
            self.log_change(request, repository, "Drill requested.")
            self.message_user(
                request,
                f"{repository}: the drill starts now, or after the drills that were requested before",
                messages.SUCCESS,
            )
