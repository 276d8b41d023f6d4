"""What came of an arm: the verdict, and three facts that imply nothing of one another.

*Verdict*: what the verifier says of the finished workspace. *Delivered*: memory reached
the model. *Used*: the agent acted on it. *Changed*: the paired outcome differs. Each is
one function from contracts to one fact.

``helpers/run_tests.py`` is one file of the standard library that a cohort's verifier
copies into its own folder.

Decisions: a verdict needs two channels that agree, for each alone has been forged.
Exit status 0 counts as acceptance while a verifier is proved, though the verdict file
says nothing: a verifier that forgets its status accepts everything. Delivery is by mark
before phrase, since a mark's digest is checked against the fixture; with a recorded wire
an item that is only in the log is not delivered. In doubt a text is the agent's own. A
rehearsal goes through the real sandbox and the real audit, both handed in.
"""

from __future__ import annotations

from benchlib.grade.changed import changed
from benchlib.grade.delivered import REFERENCE_TOOLS, UNATTRIBUTED, Exchange, delivered
from benchlib.grade.rehearse import Audit, apply_overlay, overlay_paths, rehearse
from benchlib.grade.used import used
from benchlib.grade.verify import prove, verify

__all__ = [
    "REFERENCE_TOOLS",
    "UNATTRIBUTED",
    "Audit",
    "Exchange",
    "apply_overlay",
    "changed",
    "delivered",
    "overlay_paths",
    "prove",
    "rehearse",
    "used",
    "verify",
]
