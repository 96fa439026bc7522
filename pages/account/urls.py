"""The URLs of the account's pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

from pages.account.account import AccountPage
from pages.account.agents.a2a import A2aPage, A2aTokenPage, PeerRemovalPage, PeersPage
from pages.account.agents.agents import AgentsPage
from pages.account.agents.backups import BackupFilePage, BackupsPage, RestorePage
from pages.account.agents.buttons import DeletePage, PausePage, RebuildPage, ResumePage
from pages.account.agents.cancel import CancelPage
from pages.account.agents.channels import ChannelsPage
from pages.account.agents.domain import DomainLookPage, DomainPage, DomainRemovalPage
from pages.account.agents.egress import EgressPage, EgressSecretPage, EgressSecretRemovalPage
from pages.account.agents.events import EventsPage
from pages.account.agents.free_plan import FreePlanPage
from pages.account.agents.log import LiveLogPage
from pages.account.agents.mcp import McpCommandPage, McpPage, McpRemovalPage, McpTestPage
from pages.account.agents.memory import MemoryPage
from pages.account.agents.model_key import ModelKeyPage
from pages.account.agents.next_plan import NextPlanPage
from pages.account.agents.plan import PlanPage
from pages.account.agents.replay import ReplayPage, ReplayRemovalPage
from pages.account.agents.settings import SettingsPage
from pages.account.agents.spending_limits import SpendingLimitsPage
from pages.account.agents.talk_test import TalkTestPage
from pages.account.agents.ticket import TicketPage
from pages.account.agents.tools import ToolsPage
from pages.account.agents.usage import UsagePage
from pages.account.agents.webhook import RedeliverPage, WebhookPage, WebhookRemovalPage, WebhookTestPage
from pages.account.code import CodePage
from pages.account.create import CreateKeyPage, CreatePage
from pages.account.data import DataFilePage, DataPage
from pages.account.invoices import InvoiceFilePage, InvoicesPage
from pages.account.key_models import KeyModelsPage
from pages.account.keys import KeysPage
from pages.account.leave import LeaveCodePage, LeavePage, StayPage
from pages.account.limits import AccountLimitsPage
from pages.account.look_end import LookEndPage
from pages.account.mails import MailsPage
from pages.account.oauth.activate import ActivatePage
from pages.account.oauth.consent import ConsentPage
from pages.account.payments import PaymentsPage, ReceiptFilePage, ReceiptPage
from pages.account.personas.articles import ArticleEditPage, DeleteArticlePage, NewArticlePage
from pages.account.personas.personas import (
    AuthorNamePage,
    DeletePersonaPage,
    PersonaEditPage,
    PersonaPreviewPage,
    PersonasPage,
    PublishPersonaPage,
    UnpublishPersonaPage,
)
from pages.account.renew.progress import ProgressPage
from pages.account.renew.renew import RenewPage
from pages.account.revoke import RevokePage
from pages.account.sessions import EndOtherSessionsPage, EndSessionPage, SessionsPage
from pages.account.sign_in import SignInPage
from pages.account.sign_out import SignOutPage
from pages.elsewhere import ElsewherePage

both: dict[str, Any] = {"get": "retrieve", "post": "create"}
_elsewhere = ElsewherePage.as_view({"get": "retrieve"})

urlpatterns = [
    path("sign-in", SignInPage.as_view(both)),
    path("sign-in/code", CodePage.as_view(both)),
    path("sign-out", SignOutPage.as_view({"post": "create"})),
    path("create", CreatePage.as_view({"get": "retrieve"})),
    path("create/key", CreateKeyPage.as_view(both)),
    path("oauth/authorize", ConsentPage.as_view(both)),
    path("oauth/activate", ActivatePage.as_view(both)),
    path("account", AccountPage.as_view({"get": "retrieve"})),
    path("account/keys", KeysPage.as_view(both)),
    path("account/keys/<str:id>/revoke", RevokePage.as_view(both)),
    path("account/keys/<str:id>/limits", KeyModelsPage.as_view(both)),
    path("account/sessions", SessionsPage.as_view({"get": "retrieve"})),
    path("account/sessions/end-others", EndOtherSessionsPage.as_view(both)),
    path("account/sessions/<str:id>/end", EndSessionPage.as_view(both)),
    path("account/personas", PersonasPage.as_view(both)),
    path("account/personas/author", AuthorNamePage.as_view(both)),
    path("account/personas/<str:id>", PersonaEditPage.as_view(both)),
    path("account/personas/<str:id>/preview", PersonaPreviewPage.as_view({"get": "retrieve"})),
    path("account/personas/<str:id>/publish", PublishPersonaPage.as_view(both)),
    path("account/personas/<str:id>/unpublish", UnpublishPersonaPage.as_view(both)),
    path("account/personas/<str:id>/delete", DeletePersonaPage.as_view(both)),
    path("account/personas/<str:id>/articles", NewArticlePage.as_view(both)),
    path("account/personas/<str:id>/articles/<str:slug>", ArticleEditPage.as_view(both)),
    path("account/personas/<str:id>/articles/<str:slug>/delete", DeleteArticlePage.as_view(both)),
    path("account/data", DataPage.as_view(both)),
    path("account/data/<str:id>", DataFilePage.as_view({"get": "retrieve"})),
    path("account/delete", LeavePage.as_view(both)),
    path("account/delete/code", LeaveCodePage.as_view(both)),
    path("account/delete/keep", StayPage.as_view(both)),
    path("account/look/end", LookEndPage.as_view({"post": "create"})),
    path("account/limits", AccountLimitsPage.as_view(both)),
    path("account/mails", MailsPage.as_view(both)),
    path("account/agents/<str:id>", AgentsPage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/ticket", TicketPage.as_view(both)),
    path("account/agents/<str:id>/model-key", ModelKeyPage.as_view(both)),
    path("account/agents/<str:id>/settings", SettingsPage.as_view(both)),
    path("account/agents/<str:id>/plan", PlanPage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/free-plan", FreePlanPage.as_view(both)),
    path("account/agents/<str:id>/channels", ChannelsPage.as_view(both)),
    path("account/agents/<str:id>/tools", ToolsPage.as_view(both)),
    path("account/agents/<str:id>/egress", EgressPage.as_view(both)),
    path("account/agents/<str:id>/egress/secrets", EgressSecretPage.as_view(both)),
    path("account/agents/<str:id>/egress/secrets/remove", EgressSecretRemovalPage.as_view(both)),
    path("account/agents/<str:id>/domain", DomainPage.as_view(both)),
    path("account/agents/<str:id>/domain/look", DomainLookPage.as_view(both)),
    path("account/agents/<str:id>/domain/remove", DomainRemovalPage.as_view(both)),
    path("account/agents/<str:id>/webhook", WebhookPage.as_view(both)),
    path("account/agents/<str:id>/webhook/test", WebhookTestPage.as_view(both)),
    path("account/agents/<str:id>/webhook/remove", WebhookRemovalPage.as_view(both)),
    path("account/agents/<str:id>/webhook/deliveries/<str:delivery>", RedeliverPage.as_view(both)),
    path("account/agents/<str:id>/mcp", McpPage.as_view(both)),
    path("account/agents/<str:id>/mcp/command", McpCommandPage.as_view(both)),
    path("account/agents/<str:id>/mcp/test", McpTestPage.as_view(both)),
    path("account/agents/<str:id>/mcp/remove", McpRemovalPage.as_view(both)),
    path("account/agents/<str:id>/a2a", A2aPage.as_view(both)),
    path("account/agents/<str:id>/a2a/token", A2aTokenPage.as_view(both)),
    path("account/agents/<str:id>/a2a/peers", PeersPage.as_view(both)),
    path("account/agents/<str:id>/a2a/peers/remove", PeerRemovalPage.as_view(both)),
    path("account/agents/<str:id>/talk-test", TalkTestPage.as_view(both)),
    path("account/agents/<str:id>/backups", BackupsPage.as_view(both)),
    path("account/agents/<str:id>/backups/<str:name>", BackupFilePage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/backups/<str:name>/restore", RestorePage.as_view(both)),
    path("account/agents/<str:id>/log", LiveLogPage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/events", EventsPage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/replay", ReplayPage.as_view(both)),
    path("account/agents/<str:id>/replay/delete", ReplayRemovalPage.as_view(both)),
    path("account/agents/<str:id>/memory", MemoryPage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/limits", SpendingLimitsPage.as_view(both)),
    path("account/agents/<str:id>/usage", UsagePage.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/pause", PausePage.as_view(both)),
    path("account/agents/<str:id>/resume", ResumePage.as_view(both)),
    path("account/agents/<str:id>/rebuild", RebuildPage.as_view(both)),
    path("account/agents/<str:id>/delete", DeletePage.as_view(both)),
    path("account/agents/<str:id>/cancel", CancelPage.as_view(both)),
    path("account/agents/<str:id>/next-plan", NextPlanPage.as_view(both)),
    path("account/payments", PaymentsPage.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>", ReceiptPage.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>/receipt", ReceiptFilePage.as_view({"get": "retrieve"})),
    path("account/invoices", InvoicesPage.as_view(both)),
    path("account/invoices/<str:id>", InvoiceFilePage.as_view({"get": "retrieve"})),
    path("renew/<str:id>", RenewPage.as_view(both)),
    path("renew/<str:id>/progress", ProgressPage.as_view({"get": "retrieve"})),
    # URLs that people mistype get a page too, instead of the API's error body.
    path("sign-in/", _elsewhere),
    path("sign-in/<path:rest>", _elsewhere),
    path("account/", _elsewhere),
    path("account/<path:rest>", _elsewhere),
    path("renew/<path:rest>", _elsewhere),
]
