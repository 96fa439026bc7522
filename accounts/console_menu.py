"""The menu of the console: its lists by the work of a person, not by the app of their table."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

# Each list as `app.Model`, the most used first. A list that is not named here is in INTERNALS.
MENU = {
    "Agents": (*("agents.Agent", "agents.Transition", "agents.Backup", "agents.DomainClaim", "agents.InboundMessage"),),
    "People": (
        *("accounts.User", "accounts.Suspension", "accounts.Letter", "status.Announcement", "accounts.Session"),
        *("accounts.ApiKey", "accounts.PersonNote", "accounts.StaffLook"),
        *("billing.AccountDeletion", "auth.Group", "accounts.ConsoleSession"),
    ),
    "Money": (
        *("billing.AgentTerm", "billing.Books", "billing.Reports", "billing.Payouts", "billing.Payment"),
        *(
            "billing.Subscription",
            "billing.Order",
            "billing.Invoice",
            "billing.Coupon",
            "billing.Deposit",
            "billing.StripeRefund",
        ),
        *("billing.StripeDispute", "billing.Sweep", "billing.Decision", "billing.DeferredRevenue"),
        *("billing.BillingDetails", "billing.TaxRate"),
    ),
    "Catalog": (
        *("catalog.Review", "catalog.Persona", "catalog.Author", "catalog.Takedown", "catalog.Tier"),
        *("catalog.Engine", "catalog.LlmModel", "catalog.LlmProvider", "catalog.Toolset", "catalog.Article"),
        *("catalog.PersonaL10n",),
    ),
    "Webhooks": ("webhooks.Delivery", "webhooks.Hook", "webhooks.Event"),
    "Platform": (
        *("config.Job", "status.Incident", "agents.Cluster", "status.Loop", "status.HealthSample"),
        "agents.Repository",
    ),
    "Settings": ("config.OperatorSetting", "config.SettingChange", "config.AuditEntry"),
}
INTERNALS = "Internals"

App = dict[str, Any]  # as Django's admin describes an app to its templates


def by_job(apps: list[App]) -> list[App]:
    """The lists of these apps, which are those that the person may see, under the headings of the menu."""
    lists = {f"{app['app_label']}.{one['object_name']}": one for app in apps for one in app["models"]}
    found = [_heading(job, [lists.pop(name) for name in names if name in lists]) for job, names in MENU.items()]
    internal = sorted(lists.values(), key=lambda one: str(one["name"]).lower())
    return [heading for heading in (*found, _heading(INTERNALS, internal)) if heading["models"]]


def _heading(job: str, lists: list[dict[str, Any]]) -> App:
    return {
        "name": job,
        "app_label": f"job-{job.lower()}",
        "app_url": reverse("admin:index"),
        "has_module_perms": True,
        "is_folded": job == INTERNALS,
        "models": lists,
    }
