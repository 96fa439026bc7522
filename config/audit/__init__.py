"""The audit log: what each person did in the console. Nobody can edit or delete a row of it.

`console.py` records what people do, without help of the pages. `log.py` writes the rows, `changes.py` compares values
and hides secrets, `admin.py` is the page.
"""

from config.audit.log import Acting, acted_by, acting, line, note

__all__ = ["Acting", "acted_by", "acting", "line", "note"]
