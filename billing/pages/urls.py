"""The URLs of the account's pages."""

from __future__ import annotations

from typing import Any

from django.urls import path

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
from billing.pages.elsewhere import ElsewhereViewSet
from billing.pages.invoices import InvoiceFileViewSet, InvoicesViewSet
from billing.pages.keys import KeysViewSet
from billing.pages.leave import LeaveCodeViewSet, LeaveViewSet, StayViewSet
from billing.pages.log import LogViewSet
from billing.pages.mails import MailsViewSet
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

_elsewhere = ElsewhereViewSet.as_view({"get": "retrieve"})

form: Any = {"get": "retrieve", "post": "create"}

urlpatterns = [
    path("sign-in", SignInViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("sign-in/code", CodeViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("sign-out", SignOutViewSet.as_view({"post": "create"})),
    path("create", CreateViewSet.as_view({"get": "retrieve"})),
    path("create/key", CreateKeyViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account", AccountViewSet.as_view({"get": "retrieve"})),
    path("account/keys", KeysViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/keys/<str:id>/revoke", RevokeViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/sessions", SessionsViewSet.as_view({"get": "retrieve"})),
    path("account/sessions/end-others", EndOtherSessionsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/sessions/<str:id>/end", EndSessionViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/personas", PersonasViewSet.as_view(form)),
    path("account/personas/author", AuthorNameViewSet.as_view(form)),
    path("account/personas/<str:id>", PersonaEditViewSet.as_view(form)),
    path("account/personas/<str:id>/preview", PersonaPreviewViewSet.as_view({"get": "retrieve"})),
    path("account/personas/<str:id>/publish", PublishPersonaViewSet.as_view(form)),
    path("account/personas/<str:id>/unpublish", UnpublishPersonaViewSet.as_view(form)),
    path("account/personas/<str:id>/delete", DeletePersonaViewSet.as_view(form)),
    path("account/personas/<str:id>/articles", NewArticleViewSet.as_view(form)),
    path("account/personas/<str:id>/articles/<str:slug>", ArticleEditViewSet.as_view(form)),
    path("account/personas/<str:id>/articles/<str:slug>/delete", DeleteArticleViewSet.as_view(form)),
    path("account/data", DataViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/data/<str:id>", DataFileViewSet.as_view({"get": "retrieve"})),
    path("account/delete", LeaveViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/delete/code", LeaveCodeViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/delete/keep", StayViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/mails", MailsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>", AgentsViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/ticket", TicketViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/model-key", ModelKeyViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/settings", SettingsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/channels", ChannelsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/tools", ToolsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/talk-test", TalkTestViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/backups", BackupsViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/backups/<str:name>", BackupFileViewSet.as_view({"get": "retrieve"})),
    path(
        "account/agents/<str:id>/backups/<str:name>/restore",
        RestoreViewSet.as_view({"get": "retrieve", "post": "create"}),
    ),
    path("account/agents/<str:id>/log", LogViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/pause", PauseViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/resume", ResumeViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/rebuild", RebuildViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/delete", DeleteViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/plan", PlanViewSet.as_view({"get": "retrieve"})),
    path("account/agents/<str:id>/cancel", CancelViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/next-plan", NextPlanViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/agents/<str:id>/card", CardViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/payments", PaymentsViewSet.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>", ReceiptViewSet.as_view({"get": "retrieve"})),
    path("account/payments/<str:id>/receipt", ReceiptFileViewSet.as_view({"get": "retrieve"})),
    path("account/invoices", InvoicesViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("account/invoices/<str:id>", InvoiceFileViewSet.as_view({"get": "retrieve"})),
    path("renew/<str:id>", RenewViewSet.as_view({"get": "retrieve", "post": "create"})),
    path("renew/<str:id>/progress", ProgressViewSet.as_view({"get": "retrieve"})),
    # What people mistype gets a page too, not the API's error body.
    path("sign-in/", _elsewhere),
    path("sign-in/<path:rest>", _elsewhere),
    path("account/", _elsewhere),
    path("account/<path:rest>", _elsewhere),
    path("renew/<path:rest>", _elsewhere),
]
