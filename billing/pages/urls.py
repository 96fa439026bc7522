"""The URLs of the account's pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

from billing.pages.a2a import A2aTokenViewSet, A2aViewSet, PeerRemovalViewSet, PeersViewSet
from billing.pages.account import AccountViewSet
from billing.pages.acts import DeleteViewSet, PauseViewSet, RebuildViewSet, ResumeViewSet
from billing.pages.agents import AgentsViewSet
from billing.pages.articles import ArticleEditViewSet, DeleteArticleViewSet, NewArticleViewSet
from billing.pages.backups import BackupFileViewSet, BackupsViewSet, RestoreViewSet
from billing.pages.cancel import CancelViewSet
from billing.pages.card import CardViewSet
from billing.pages.channels import ChannelsViewSet
from billing.pages.code import CodeViewSet
from billing.pages.create import CreateKeyViewSet, CreateViewSet
from billing.pages.data import DataFileViewSet, DataViewSet
from billing.pages.domain import DomainLookViewSet, DomainRemovalViewSet, DomainViewSet
from billing.pages.elsewhere import ElsewhereViewSet
from billing.pages.events import EventsViewSet
from billing.pages.free_plan import FreePlanViewSet
from billing.pages.invoices import InvoiceFileViewSet, InvoicesViewSet
from billing.pages.keys import KeysViewSet
from billing.pages.leave import LeaveCodeViewSet, LeaveViewSet, StayViewSet
from billing.pages.log import LogViewSet
from billing.pages.mails import MailsViewSet
from billing.pages.mcp import McpCommandViewSet, McpRemovalViewSet, McpTestViewSet, McpViewSet
from billing.pages.memory import MemoryViewSet
from billing.pages.model_key import ModelKeyViewSet
from billing.pages.next_plan import NextPlanViewSet
from billing.pages.payments import PaymentsViewSet, ReceiptFileViewSet, ReceiptViewSet
from billing.pages.personas import (
    AuthorNameViewSet,
    DeletePersonaViewSet,
    PersonaEditViewSet,
    PersonaPreviewViewSet,
    PersonasViewSet,
    PublishPersonaViewSet,
    UnpublishPersonaViewSet,
)
from billing.pages.plan import PlanViewSet
from billing.pages.progress import ProgressViewSet
from billing.pages.renew import RenewViewSet
from billing.pages.revoke import RevokeViewSet
from billing.pages.sessions import EndOtherSessionsViewSet, EndSessionViewSet, SessionsViewSet
from billing.pages.settings import SettingsViewSet
from billing.pages.sign_in import SignInViewSet
from billing.pages.sign_out import SignOutViewSet
from billing.pages.talk_test import TalkTestViewSet
from billing.pages.ticket import TicketViewSet
from billing.pages.tools import ToolsViewSet
from billing.pages.usage import UsageViewSet
from billing.pages.webhook import RedeliverViewSet, WebhookRemovalViewSet, WebhookTestViewSet, WebhookViewSet

both: dict[str, Any] = {"get": "retrieve", "post": "create"}
_elsewhere = ElsewhereViewSet.as_view({"get": "retrieve"})

urlpatterns = [
    path("sign-in", SignInViewSet.as_view(both)),
    path("sign-in/code", CodeViewSet.as_view(both)),
    path("sign-out", SignOutViewSet.as_view({"post": "create"})),
    path("create", CreateViewSet.as_view({"get": "retrieve"})),
    path("create/key", CreateKeyViewSet.as_view(both)),
    path("account", AccountViewSet.as_view({"get": "retrieve"})),
    path("account/keys", KeysViewSet.as_view(both)),
    path("account/keys/<str:id>/revoke", RevokeViewSet.as_view(both)),
    path("account/sessions", SessionsViewSet.as_view({"get": "retrieve"})),
    path("account/sessions/end-others", EndOtherSessionsViewSet.as_view(both)),
    path("account/sessions/<str:id>/end", EndSessionViewSet.as_view(both)),
    path("account/personas", PersonasViewSet.as_view(both)),
    path("account/personas/author", AuthorNameViewSet.as_view(both)),
    path("account/personas/<str:id>", PersonaEditViewSet.as_view(both)),
    path("account/personas/<str:id>/preview", PersonaPreviewViewSet.as_view({"get": "retrieve"})),
    path("account/personas/<str:id>/publish", PublishPersonaViewSet.as_view(both)),
    path("account/personas/<str:id>/unpublish", UnpublishPersonaViewSet.as_view(both)),
    path("account/personas/<str:id>/delete", DeletePersonaViewSet.as_view(both)),
    path("account/personas/<str:id>/articles", NewArticleViewSet.as_view(both)),
    path("account/personas/<str:id>/articles/<str:slug>", ArticleEditViewSet.as_view(both)),
    path("account/personas/<str:id>/articles/<str:slug>/delete", DeleteArticleViewSet.as_view(both)),
    path("account/data", DataViewSet.as_view(both)),
    path("account/data/<str:id>", DataFileViewSet.as_view({"get": "retrieve"})),
    path("account/delete", LeaveViewSet.as_view(both)),
    path("account/delete/code", LeaveCodeViewSet.as_view(both)),
    path("account/delete/keep", StayViewSet.as_view(both)),
    path("account/mails", MailsViewSet.as_view(both)),
    path("account/agents/<str:id>", AgentsViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/ticket", TicketViewSet.as_view(both)),
    path("account/agents/<str:id>/model-key", ModelKeyViewSet.as_view(both)),
    path("account/agents/<str:id>/settings", SettingsViewSet.as_view(both)),
    path("account/agents/<str:id>/plan", PlanViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/free-plan", FreePlanViewSet.as_view(both)),
    path("account/agents/<str:id>/channels", ChannelsViewSet.as_view(both)),
    path("account/agents/<str:id>/tools", ToolsViewSet.as_view(both)),
    path("account/agents/<str:id>/domain", DomainViewSet.as_view(both)),
    path("account/agents/<str:id>/domain/look", DomainLookViewSet.as_view(both)),
    path("account/agents/<str:id>/domain/remove", DomainRemovalViewSet.as_view(both)),
    path("account/agents/<str:id>/webhook", WebhookViewSet.as_view(both)),
    path("account/agents/<str:id>/webhook/test", WebhookTestViewSet.as_view(both)),
    path("account/agents/<str:id>/webhook/remove", WebhookRemovalViewSet.as_view(both)),
    path("account/agents/<str:id>/webhook/deliveries/<str:delivery>", RedeliverViewSet.as_view(both)),
    path("account/agents/<str:id>/mcp", McpViewSet.as_view(both)),
    path("account/agents/<str:id>/mcp/command", McpCommandViewSet.as_view(both)),
    path("account/agents/<str:id>/mcp/test", McpTestViewSet.as_view(both)),
    path("account/agents/<str:id>/mcp/remove", McpRemovalViewSet.as_view(both)),
    path("account/agents/<str:id>/a2a", A2aViewSet.as_view(both)),
    path("account/agents/<str:id>/a2a/token", A2aTokenViewSet.as_view(both)),
    path("account/agents/<str:id>/a2a/peers", PeersViewSet.as_view(both)),
    path("account/agents/<str:id>/a2a/peers/remove", PeerRemovalViewSet.as_view(both)),
    path("account/agents/<str:id>/talk-test", TalkTestViewSet.as_view(both)),
    path("account/agents/<str:id>/backups", BackupsViewSet.as_view(both)),
    path("account/agents/<str:id>/backups/<str:name>", BackupFileViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/backups/<str:name>/restore", RestoreViewSet.as_view(both)),
    path("account/agents/<str:id>/log", LogViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/events", EventsViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/memory", MemoryViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/usage", UsageViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/pause", PauseViewSet.as_view(both)),
    path("account/agents/<str:id>/resume", ResumeViewSet.as_view(both)),
    path("account/agents/<str:id>/rebuild", RebuildViewSet.as_view(both)),
    path("account/agents/<str:id>/delete", DeleteViewSet.as_view(both)),
    path("account/agents/<str:id>/cancel", CancelViewSet.as_view(both)),
    path("account/agents/<str:id>/next-plan", NextPlanViewSet.as_view(both)),
    path("account/agents/<str:id>/card", CardViewSet.as_view(both)),
    path("account/payments", PaymentsViewSet.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>", ReceiptViewSet.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>/receipt", ReceiptFileViewSet.as_view({"get": "retrieve"})),
    path("account/invoices", InvoicesViewSet.as_view(both)),
    path("account/invoices/<str:id>", InvoiceFileViewSet.as_view({"get": "retrieve"})),
    path("renew/<str:id>", RenewViewSet.as_view(both)),
    path("renew/<str:id>/progress", ProgressViewSet.as_view({"get": "retrieve"})),
    # URLs that people mistype get a page too, instead of the API's error body.
    path("sign-in/", _elsewhere),
    path("sign-in/<path:rest>", _elsewhere),
    path("account/", _elsewhere),
    path("account/<path:rest>", _elsewhere),
    path("renew/<path:rest>", _elsewhere),
]
