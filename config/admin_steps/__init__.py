"""Steps: actions in the admin that take something away or that need a reason. Each step has its own page.

The page lists the rows that the step changes, says what the step does and asks for a reason. After the operator
confirms, a rule changes the rows, one by one.
"""

from config.admin_steps.console import WithSteps, as_job
from config.admin_steps.page import MOST, address
from config.admin_steps.step import DeleteRows, Given, Logged, NameOrPerish, ReasonForm, Step, in_words

__all__ = [
    "MOST",
    "DeleteRows",
    "Given",
    "Logged",
    "NameOrPerish",
    "ReasonForm",
    "Step",
    "WithSteps",
    "address",
    "as_job",
    "in_words",
]
