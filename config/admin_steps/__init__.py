"""What operators do in the admin that takes something away, or that needs a reason: each is a step with its own page.

The page lists what the step hits, says what it means and asks why. Only then is it done, row by row, by a rule.
"""

from config.admin_steps.console import WithSteps
from config.admin_steps.page import MOST
from config.admin_steps.step import DeleteRows, Given, Logged, NameOrPerish, ReasonForm, Step, in_words

__all__ = ["MOST", "DeleteRows", "Given", "Logged", "NameOrPerish", "ReasonForm", "Step", "WithSteps", "in_words"]
