"""Announcements in the console: write them, see them as readers do, mail them to oneself and to a group."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin

from accounts import letters, throttling
from accounts.mail_admin import OF_A_MAIL, OF_THE_PAGE, TEST, TESTS
from accounts.models import User
from config import audit, content_policy
from config.admin_steps import WithSteps, as_job
from config.errors import RateLimited
from config.jobs.models import Job
from status.announcements import banners, groups, wording
from status.announcements.admin_steps import SendAnnouncement
from status.announcements.groups import GroupForm
from status.announcements.models import Announcement, AnnouncementText

OTHERS = [(code, name) for code, name in settings.LANGUAGES if code != wording.ENGLISH]


class TextInline(admin.StackedInline[Any, Any]):
    model = AnnouncementText
    extra = 0
    max_num = len(OTHERS)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest | None, **kwargs: Any) -> Any:
        if db_field.name == "lang":
            return forms.ChoiceField(choices=OTHERS, label="Language")
        return super().formfield_for_dbfield(db_field, request, **kwargs)  # type: ignore[arg-type]  # as Django calls it


@admin.register(Announcement)
class AnnouncementAdmin(WithSteps):
    list_display = ("title", "created_at", "shown_from", "shown_until", "on_status_page", "may_be_muted")
    list_filter = ("may_be_muted",)
    search_fields = ("id", "title")
    list_per_page = 50
    inlines = (TextInline,)
    pages = (SendAnnouncement(),)
    change_form_template = "admin/status/announcement_change.html"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What people were told stays on record. A banner ends by its second time."""
        return False

    def has_mail_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("status.mail_announcement")

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        banners.forget()

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """What follows a new announcement is its preview."""
        answer = super().response_add(request, obj, post_url_continue)
        return redirect("admin:status_announcement_mail", obj.pk) if "_save" in request.POST else answer

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        html = xframe_options_sameorigin(view(self.html_view))
        ours = [
            path("<str:object_id>/mail/", view(self.mail_view), name="status_announcement_mail"),
            path("<str:object_id>/mail/<str:lang>/html", html, name="status_announcement_html"),
            path("<str:object_id>/mail/<str:lang>/test", view(self.test_view), name="status_announcement_test"),
        ]
        return [*ours, *super().get_urls()]

    def mail_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Choose the group, count it, see the mail. A POST prepares the job, whose page asks for a reason."""
        announcement = self._found(request, object_id, may_mail=request.method == "POST")
        form = GroupForm(request.GET)
        chosen = groups.readers(announcement, form.cleaned_data) if form.is_valid() else None
        if request.method == "POST" and chosen is not None:
            step = self.pages[0]
            fields = {"announcement": [announcement.pk]}
            if answer := as_job(self, request, chosen, step=step, words=form.words(), fields=fields):
                return answer
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Mail: {announcement}",
            "announcement": announcement,
            "form": form,
            "number": chosen.count() if chosen is not None else None,
            "texts": [wording.mail(announcement, lang=lang) for lang in wording.wordings(announcement)],
            "may_mail": self.has_mail_permission(request),
            "jobs": Job.objects.filter(fields__announcement=[announcement.pk]).exclude(state="draft")[:20],
        }
        answer = TemplateResponse(request, "admin/status/announcement_mail.html", context)
        answer.headers[content_policy.HEADER] = OF_THE_PAGE
        return answer

    def html_view(self, request: HttpRequest, object_id: str, lang: str) -> HttpResponse:
        mail = wording.mail(self._found(request, object_id), lang=lang)
        return HttpResponse(mail.html, headers={content_policy.HEADER: OF_A_MAIL})

    def test_view(self, request: HttpRequest, object_id: str, lang: str) -> HttpResponse:
        """Mail it to the operator's own address, as all letters are."""
        announcement = self._found(request, object_id, may_mail=True)
        if request.method != "POST" or not isinstance(request.user, User):
            raise PermissionDenied
        try:
            throttling.spend(TESTS, by=request.user.pk, now=timezone.now())
        except RateLimited as refusal:
            messages.error(request, refusal.message)
            return redirect("admin:status_announcement_mail", announcement.pk)
        mail = wording.mail(announcement, lang=lang)
        letters.write(request.user, subject=TEST + mail.subject, text=mail.text, html=mail.html, lang=mail.lang)
        audit.note("Test mail sent", announcement, changes=[("language", "", mail.lang)])
        messages.success(request, f"A test mail is on its way to {request.user.email}.")
        return redirect("admin:status_announcement_mail", announcement.pk)

    def _found(self, request: HttpRequest, object_id: str, *, may_mail: bool = False) -> Announcement:
        if not self.has_view_permission(request) or (may_mail and not self.has_mail_permission(request)):
            raise PermissionDenied
        return get_object_or_404(Announcement, pk=object_id)
