"""Drift is refused and shown cell by cell, aligned by content."""

from __future__ import annotations

import pytest
from analysis.support import Notebook, Plans

from benchlib.analysis.declarations import Library
from benchlib.analysis.drift import PlanDriftError, check_drift, compare_plans, diff
from benchlib.analysis.plans import FrozenPlan


def drift(pinned: FrozenPlan, found: FrozenPlan, *, with_object: bool = True) -> PlanDriftError:
    with pytest.raises(PlanDriftError) as refused:
        check_drift(
            found,
            expected_plan_sha256=pinned.plan_sha256,
            pinned=pinned.content if with_object else None,
            frozen_in="cohorts/demo/v1/plan.lock.json",
        )
    return refused.value


def test_one_changed_cell_is_shown_as_one_line_out_and_one_in(plans: Plans) -> None:
    pinned, found = plans.read(), plans.read("plan_drift.ipynb")
    assert str(drift(pinned, found)) == (
        "notebooks/plans/primary.ipynb: cell 4 of 4 (table outcome)\n"
        f"  found    plan {found.plan_sha256[:4]}…{found.plan_sha256[-4:]}\n"
        f"  allowed  plan {pinned.plan_sha256[:4]}…{pinned.plan_sha256[-4:]},"
        " frozen in cohorts/demo/v1/plan.lock.json\n"
        '  - emit("outcome", pairs)\n'
        '  + emit("outcome", pairs[:1])\n'
        "  3 cells unchanged\n"
        "  next     restore the cell (git checkout), or freeze a new version that says why"
    )


def test_drift_ends_with_status_two_and_carries_its_parts(plans: Plans) -> None:
    error = drift(plans.read(), plans.read("plan_drift.ipynb"))
    assert error.exit_status == 2
    assert '+ emit("outcome", pairs[:1])' in error.parts()[0]["difference"]


def test_an_inserted_cell_is_one_inserted_cell(plans: Plans) -> None:
    error = drift(plans.read(), plans.read("plan_inserted_cell.ipynb"))
    assert [one.title for one in error.differences] == ["cell 2 of 5 (text) inserted, markdown"]
    assert error.differences[0].lines == ("+ An added remark.",)
    assert error.unchanged == 4


def test_a_removed_cell_is_one_removed_cell(plans: Plans) -> None:
    error = drift(plans.read("plan_inserted_cell.ipynb"), plans.read())
    assert [one.title for one in error.differences] == ["cell 2 of 5 (text) removed"]


def test_a_cell_that_was_put_in_beside_a_changed_one_stays_apart(plans: Plans) -> None:
    def change(document: Notebook) -> None:
        document["cells"][4]["source"] = 'emit("outcome", pairs[:1])'
        remark = {"cell_type": "markdown", "id": "x", "metadata": {}, "source": "Another one."}
        document["cells"].insert(4, remark)

    error = drift(
        plans.read("plan_inserted_cell.ipynb"), plans.read("plan_inserted_cell.ipynb", change)
    )
    titles = [one.title for one in error.differences]
    assert titles == ["cell 5 of 6 (text) inserted, markdown", "cell 6 of 6 (table outcome)"]


def test_without_the_pinned_object_the_digests_are_shown(plans: Plans) -> None:
    error = drift(plans.read(), plans.read("plan_drift.ipynb"), with_object=False)
    assert error.differences == ()
    assert "plan_sha256" in str(error)


def test_another_dress_is_no_drift(plans: Plans) -> None:
    found = plans.read("plan_good_other_dress.ipynb")
    expected = plans.read().plan_sha256
    check_drift(found, expected_plan_sha256=expected, pinned=None, frozen_in="")


def test_what_a_control_character_hides_is_shown_as_an_escape(plans: Plans) -> None:
    def change(document: Notebook) -> None:
        document["cells"][0]["source"] += "\u202e\x1b[2J"

    text = str(drift(plans.read(), plans.read(change=change)))
    assert "\x1b" not in text
    assert "\\u202e\\x1b[2J" in text


def test_changed_declarations_are_shown_by_name(plans: Plans) -> None:
    pinned = plans.read().content
    default = plans.with_cell(2, 'cohort: str = "demo"\nalpha_ppm: int = 100000').content
    assert "alpha_ppm: default 50000 -> 100000" in diff(pinned, default)
    library = pinned.model_copy(update={"libraries": (Library(name="pandas", version="3.2.0"),)})
    assert "pandas: version 3.1.1 -> 3.2.0" in diff(pinned, library)
    python = pinned.model_copy(update={"python": "3.12"})
    assert "version 3.11 -> 3.12" in diff(pinned, python)


def test_equal_plans_have_no_difference(plans: Plans) -> None:
    assert compare_plans(plans.read().content, plans.read().content) == []


def test_the_first_twenty_differences_are_shown_and_the_others_counted(plans: Plans) -> None:
    def change(document: Notebook) -> None:
        document["cells"] += [
            {"cell_type": "markdown", "id": f"m{n}", "metadata": {}, "source": f"Remark {n}"}
            for n in range(25)
        ]

    error = drift(plans.read(), plans.read(change=change))
    assert len(error.differences) == 25
    assert "and 5 more differences" in str(error)
    assert "Remark 19" in str(error)
    assert "Remark 20" not in str(error)
