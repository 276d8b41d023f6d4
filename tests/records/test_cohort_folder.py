"""What is asked for is a folder; a file in its place is told so, with the folder to name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchlib.errors import InputError
from benchlib.records import open_plan, read_cohort

COHORT = Path(__file__).parents[2] / "cohorts" / "demo" / "v1"


@pytest.mark.parametrize("read", [open_plan, read_cohort])
def test_a_file_of_the_cohort_is_not_the_cohort(read: Callable[[Path], object]) -> None:
    with pytest.raises(InputError) as refused:
        read(COHORT / "cohort.json")
    assert refused.value.found == "a file"
    assert refused.value.next_step == f"name the folder, {COHORT}"
