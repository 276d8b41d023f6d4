"""A pair on a real third-party project: its release archive, from the registry to a receipt."""

from __future__ import annotations

import pytest
from cohort_builder import CohortSpec, RunSpec
from prepare.archive import CLICK, release_archive


@pytest.mark.docker
@pytest.mark.slow
def test_a_pair_runs_on_a_real_projects_release_under_docker(run_spec: RunSpec) -> None:
    corpus = {"kind": "archive", "location": str(release_archive(CLICK)), "sha256": CLICK.sha256}
    program = "import click; print(click.unstyle(click.style('58', bold=True)))"
    agent = f'PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=src python3 -c "{program}" > answer.txt'
    ran = run_spec(CohortSpec(agent=("sh", "-c", agent), corpus=corpus), "docker")
    pair = ran.pair()
    assert pair.change is not None, pair.detail
    assert pair.change.outcome == "both-passed"
    assert pair.key.source_commit == CLICK.commit
    for arm in ("control", "treatment"):
        receipt = ran.arm(arm)
        assert receipt.sandbox is not None
        assert receipt.sandbox.isolation == "container"
        assert receipt.mutations is not None
        assert [one.path for one in receipt.mutations.mutations] == ["answer.txt"]
