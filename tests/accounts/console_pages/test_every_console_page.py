"""Every route of the console leads to a page that is looked at in a browser, or is on a list of those that do not."""

from __future__ import annotations

import pytest

from tests.accounts.console_pages.addresses import leads_to_no_page, routes
from tests.accounts.console_pages.rows import ConsoleRows

# Steps that would change no row of this platform, and rows that only a decision or a session makes. Their pages are
# those of other steps and rows with other words.
WITHOUT_ROWS = {
    *("accounts_consolesession_change", "accounts_consolesession_history", "accounts_user_restore_accounts"),
    *("accounts_user_sign_out", "agents_agent_undo_deletion", "auth_group_delete_rows"),
    *("billing_decision_change", "billing_decision_history", "billing_nextplan_change", "billing_nextplan_history"),
    *("catalog_review_lift", "catalog_review_take_down_article"),
}


@pytest.mark.django_db(transaction=True)
def test_each_page_of_the_console_is_looked_at(console_rows: ConsoleRows) -> None:
    """A new list, form or step is found by itself. A page of another kind needs its arguments in `rows.py`."""
    known = set(console_rows.addresses())
    refused = {name for name in routes() - known if name.endswith("_add")}
    assert {name for name in routes() - known - refused if not leads_to_no_page(name)} == WITHOUT_ROWS
