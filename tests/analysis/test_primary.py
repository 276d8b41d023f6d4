"""The plan that ships: declared as the library has it, without outputs, and byte for byte again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from analysis.support import SHA, ReceiptsBuilder, make_cohort, planned

from benchlib.analysis import tables
from benchlib.analysis.cohort_analysis import Analysis, analyze
from benchlib.analysis.drift import PlanDriftError
from benchlib.analysis.plans import pin_plan, read_plan
from benchlib.contracts.plan import OpenPlan, PlanLock
from benchlib.errors import DriftError, InputError

REPOSITORY = Path(__file__).parents[2]
PRIMARY = REPOSITORY / "notebooks" / "plans" / "primary.ipynb"
PLACE = "notebooks/plans/primary.ipynb"


def test_the_plan_declares_the_tables_as_the_library_makes_them() -> None:
    assert {output.id: output for output in read_plan(PRIMARY).outputs} == tables.OUTPUTS


@pytest.mark.parametrize("path", sorted((REPOSITORY / "notebooks" / "plans").glob("*.ipynb")))
def test_a_plan_is_committed_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_bytes())["cells"]
    assert [cell.get("outputs", []) for cell in cells] == [[] for _ in cells]
    assert {cell.get("execution_count") for cell in cells} == {None}


def open_plan(builder: ReceiptsBuilder, root: Path, notebook: Path = PRIMARY) -> OpenPlan:
    """Open a cohort whose receipts carry the lock's digest."""
    cohort = builder.cohort
    plan = read_plan(notebook, place=PLACE)
    analysis = cohort.analysis.model_copy(update={"plan_sha256": plan.plan_sha256})
    cohort = cohort.model_copy(update={"analysis": analysis})
    root.mkdir(parents=True, exist_ok=True)
    pin_plan(plan, root)
    lock = PlanLock(
        cohort=cohort.id,
        version=cohort.version,
        cohort_sha256=cohort.canonical_sha256(),
        plan_sha256=plan.plan_sha256,
        files=(),
        trees=(),
        proofs=(),
    )
    for path in (builder.root / "receipts").rglob("*/receipt.json"):
        relock(path, lock)
    for path in (builder.root / "receipts").rglob("pair.json"):
        relock(path, lock)
    return OpenPlan(root, cohort, lock, {}, {}, None)


def relock(path: Path, lock: PlanLock) -> None:
    import rfc8785  # noqa: PLC0415 - one use

    from benchlib.analysis.table_files import sha256  # noqa: PLC0415 - one use

    receipt = json.loads(path.read_bytes()) | {"lock_sha256": lock.canonical_sha256()}
    for arm in receipt.get("arms", []):
        data = (path.parent / arm["arm"] / "receipt.json").read_bytes()
        arm["sha256"] = sha256(data)
    path.write_bytes(rfc8785.dumps(receipt))


def repository(folder: Path, *, line_ends: bytes = b"\n") -> Path:
    """Make a checkout that holds the plan, as some machine would check it out."""
    plans = folder / "notebooks" / "plans"
    plans.mkdir(parents=True)
    for path in PRIMARY.parent.iterdir():
        (plans / path.name).write_bytes(path.read_bytes().replace(b"\n", line_ends))
    return folder


def run(builder: ReceiptsBuilder, folder: Path, **checkout: bytes) -> Analysis:
    return analyze(
        open_plan(builder, folder / "cohorts" / "demo" / "v1"),
        receipts=builder.root / "receipts",
        repository=repository(folder / "clone", **checkout),
        out=folder / "out",
    )


def test_two_runs_elsewhere_give_the_same_bytes(
    demo: ReceiptsBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = run(demo, tmp_path / "one")
    monkeypatch.setenv("PYTHONHASHSEED", "1")
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    moved = ReceiptsBuilder(tmp_path / "né w", demo.cohort)
    shutil.copytree(demo.root / "receipts", moved.root / "receipts", dirs_exist_ok=True)
    other = run(moved, tmp_path / "a blank é", line_ends=b"\r\n")
    for made in (one, other):
        names = sorted(path.name for path in (made.execution.out / "tables").iterdir())
        promised = [name for name, output in tables.OUTPUTS.items() if output.status == "promised"]
        assert names == sorted(f"{name}.{kind}" for name in promised for kind in ("csv", "json"))
    for path in (one.execution.out / "tables").iterdir():
        assert path.read_bytes() == (other.execution.out / "tables" / path.name).read_bytes()
    charts = sorted(path.name for path in (one.execution.out / "charts").glob("*.vl.json"))
    assert len(charts) == 4
    for name in charts:
        first, second = (made.execution.out / "charts" / name for made in (one, other))
        assert first.read_bytes() == second.read_bytes()
    assert one.report.name == "report.html"
    assert "promised tables: 8" in one.in_words()


def test_a_cohort_that_was_never_run_has_empty_tables_and_a_report(tmp_path: Path) -> None:
    builder = ReceiptsBuilder(tmp_path / "in", make_cohort((planned("p1"),)))
    shutil.rmtree(builder.root / "receipts")
    page = run(builder, tmp_path).report.read_text()
    assert "no pair has an outcome, so nothing can be said" in page
    assert not any(f">{word}<" in page for word in ("nan", "inf", "None", "&lt;NA&gt;"))


def test_one_changed_character_is_refused_and_shown(demo: ReceiptsBuilder, tmp_path: Path) -> None:
    plan = open_plan(demo, tmp_path / "cohort")
    clone = repository(tmp_path / "clone")
    path = clone / PLACE
    path.write_text(path.read_text().replace("tables.voids(receipts)", "tables.voids(receipts )"))
    with pytest.raises(PlanDriftError) as refused:
        analyze(plan, receipts=demo.root / "receipts", repository=clone, out=tmp_path / "out")
    told = str(refused.value)
    assert '- emit("voids", tables.voids(receipts))' in told
    assert '+ emit("voids", tables.voids(receipts ))' in told
    assert "(table voids)" in refused.value.field
    assert not (tmp_path / "out").exists()


def test_receipts_of_another_lock_are_drift(demo: ReceiptsBuilder, tmp_path: Path) -> None:
    plan = open_plan(demo, tmp_path / "cohort")
    other = plan.lock.model_copy(update={"cohort_sha256": SHA["f"]})
    plan = OpenPlan(plan.root, plan.cohort, other, {}, {}, None)
    clone = repository(tmp_path / "clone")
    with pytest.raises(DriftError, match="lock_sha256"):
        analyze(plan, receipts=demo.root / "receipts", repository=clone, out=tmp_path / "out")


def test_what_is_wrong_with_receipts_shows_before_a_kernel(
    demo: ReceiptsBuilder, tmp_path: Path
) -> None:
    plan = open_plan(demo, tmp_path / "cohort")
    (demo.root / "receipts" / "rename-populated-2" / "a1" / "pair.json").write_text("{}")
    clone = repository(tmp_path / "clone")
    with pytest.raises(InputError, match=r"pair\.json"):
        analyze(plan, receipts=demo.root / "receipts", repository=clone, out=tmp_path / "out")
