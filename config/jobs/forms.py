"""The form that starts a job: the form of its step, the number of rows, and the pace."""

from __future__ import annotations

from typing import Any

from django import forms

from config.admin_steps import Step
from config.jobs.models import Job

MOST_A_MINUTE = 6_000


class StartForm:
    """Two forms in one page: that of the step, and ours."""

    def __init__(self, sent: Any, *, job: Job, step: Step[Any]) -> None:
        self._job = job
        self.step_form = step.form_of(_with_kept(sent, job) if sent is not None else None, [])
        for name, values in job.fields.items():  # chosen before, and not to be changed here
            if name in self.step_form.fields:
                self.step_form.fields[name].initial = values[0]
                self.step_form.fields[name].widget = forms.HiddenInput()
        self.job_form = JobForm(sent, total=job.total, pace=step.pace)

    def is_valid(self) -> bool:
        return all([self.step_form.is_valid(), self.job_form.is_valid()])

    def typed(self) -> dict[str, list[str]]:
        """What was typed into the step's form, cleaned only by the line ends and spaces that its reason loses."""
        data: Any = self.step_form.data
        typed = {name: [str(one) for one in data.getlist(name)] for name in self.step_form.fields if name in data}
        return typed | {"reason": [str(self.step_form.cleaned_data.get("reason", ""))]}

    def pace(self) -> int:
        return int(self.job_form.cleaned_data["pace"])


class JobForm(forms.Form):
    def __init__(self, sent: Any, *, total: int, pace: int) -> None:
        super().__init__(sent)
        wrong = dict.fromkeys(("min_value", "max_value"), f"There are {total} rows.")
        self.fields["rows"] = forms.IntegerField(
            min_value=total,
            max_value=total,
            label="Number of rows",
            help_text="Enter the number of rows above.",
            error_messages=wrong,
        )
        self.fields["pace"] = forms.IntegerField(
            min_value=1,
            max_value=MOST_A_MINUTE,
            initial=pace,
            label="Rows per minute",
            help_text="The most that the workers begin in a minute. Fewer leave more of the platform to its customers.",
        )


def _with_kept(sent: Any, job: Job) -> Any:
    """What was sent, but for the fields that were chosen before: those are as they were."""
    kept = sent.copy()
    for name, values in job.fields.items():
        kept.setlist(name, values)
    return kept
