"""Accounts in the admin: the person's page, and suspensions, which stop and start the person's agents."""

from __future__ import annotations

from django.contrib import admin

from accounts.admin import UserAdmin
from accounts.admin_steps import ResetSignIn, SignOutOperators
from accounts.models import User
from agents.admin import sections
from agents.admin.steps import RestoreAccounts, SuspendAccounts
from config.admin_sections import RepairButton

admin.site.unregister(User)


def _suspend(user: User) -> str:
    return "" if user.is_active else "The account is suspended or deleted."


def _restore(user: User) -> str:
    if user.closed_at is not None:
        return "The account is deleted."
    return "The account is not suspended." if user.is_active else ""


@admin.register(User)
class AccountAdmin(UserAdmin):
    steps = (SuspendAccounts(), RestoreAccounts(), SignOutOperators(), ResetSignIn())
    sections = [sections.of_person, *UserAdmin.sections]
    repairs_title, sections_first = "Help", True
    repairs = [
        *UserAdmin.repairs,
        RepairButton(step=SuspendAccounts(), model=User, about="Agents stop, nobody signs in.", why_not=_suspend),
        RepairButton(step=RestoreAccounts(), model=User, about="Agents start again.", why_not=_restore),
    ]
