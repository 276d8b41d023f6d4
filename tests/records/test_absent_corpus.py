"""An absent corpus is an error; who goes on without it must say what then went unchecked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cohort_builder import CohortSpec, write_cohort

VARIABLE = "BENCHLIB_CORPUS_WENT_UNCHECKED"


@pytest.fixture
def without_corpus(tmp_path: Path) -> Path:
    cohort = write_cohort(tmp_path / "cohort", CohortSpec())
    shutil.rmtree(cohort / "corpus")
    return cohort


def certify(cohort: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchlib", "certify", str(cohort)],
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(cohort), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_absent_corpus_is_bad_input(without_corpus: Path) -> None:
    done = certify(without_corpus)
    assert (done.returncode, done.stdout) == (2, "")
    assert "corpus/repository" in done.stderr


def test_who_opted_out_gets_the_other_surfaces_judged_and_is_told_what_was_not(
    without_corpus: Path,
) -> None:
    done = certify(without_corpus, **{VARIABLE: "1"})
    assert done.returncode == 0, done.stderr
    assert f"UNCHECKED  the corpus of label-width on parcel-desk was absent: {VARIABLE}" in (
        done.stdout
    )


def test_a_value_that_means_nothing_opts_nobody_out(without_corpus: Path) -> None:
    done = certify(without_corpus, **{VARIABLE: "yes"})
    assert done.returncode == 2
    assert f"{VARIABLE}=1" in done.stderr


def test_the_variable_changes_nothing_where_the_corpus_is_there(tmp_path: Path) -> None:
    cohort = write_cohort(tmp_path / "cohort", CohortSpec())
    done = certify(cohort, **{VARIABLE: "1"})
    assert done.returncode == 0, done.stderr
    assert "UNCHECKED" not in done.stdout
