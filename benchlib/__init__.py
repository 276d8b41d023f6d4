"""Paired agent-memory benchmarks whose answer a stranger can check.

The main job, in eight lines:

    from pathlib import Path
    from benchlib import records

    cohort = Path("cohorts/demo/v1")
    plan = records.open_plan(cohort)              # nothing moved since it was frozen
    records.run_frozen(cohort, sandbox="local", resume=False,
                       receipts=Path("out/receipts"), jobs=1, progress=print)
    records.analyze_frozen(cohort, receipts=Path("out/receipts"),
                           output=Path("out"), overwrite=False, progress=print)

Next to read: ``benchlib/run/pair.py``, the whole flow as one function.
"""

__version__ = "0.1.0"
