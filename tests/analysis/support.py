"""Plans and receipts for the tests: the small cases with their declarations, and builders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchlib.analysis import tables
from benchlib.analysis.declarations import AnalysisLock, Library
from benchlib.analysis.emission import declared_rows
from benchlib.analysis.execute import Execution, ExecutionRecord, tables_index
from benchlib.analysis.frames import load
from benchlib.analysis.plans import FrozenPlan, read_plan
from benchlib.analysis.table_files import build_table, sha256
from benchlib.contracts.attempt import (
    ArmReceipt,
    Delivered,
    Delivery,
    Limits,
    SandboxFacts,
    Use,
)
from benchlib.contracts.cohort import (
    Cohort,
    Condition,
    MemoryCondition,
    NotebookPlan,
    PlannedEndpoint,
    PlannedPair,
    Provisioner,
    ReactAgent,
    RunRules,
    ScriptedModel,
)
from benchlib.contracts.pair import ArmDigest, Change, ComparabilityKey, PairReceipt
from benchlib.contracts.trajectory import (
    Observation,
    ObservationResult,
    Step,
    ToolCall,
    Trajectory,
    TrajectoryAgent,
)
from benchlib.contracts.usage import Usage

CASES = Path(__file__).parents[1] / "cases" / "notebooks"
PRIMARY = Path(__file__).parents[2] / "notebooks" / "plans" / "primary.ipynb"
DECLARED = {
    "outputs": [
        {
            "id": "outcome",
            "title": "Outcome of each pair",
            "columns": [
                {"name": "challenge", "type": "text"},
                {"name": "with_memory", "type": "integer"},
                {"name": "without_memory", "type": "integer"},
            ],
            "order": ["challenge"],
        }
    ],
    "parameters": [{"name": "alpha_ppm", "minimum": 1, "maximum": 500000}],
}
LOCK = AnalysisLock(python="3.11", libraries=(Library(name="pandas", version="3.1.1"),))

Notebook = dict[str, Any]
Edit = Callable[[Notebook], None]


def notebook(name: str = "plan_good.ipynb") -> Notebook:
    """Return a case with its declarations."""
    document: Notebook = json.loads((CASES / name).read_bytes())
    document["metadata"]["benchlib"] = json.loads(json.dumps(DECLARED))
    return document


class Plans:
    """Writes plan notebooks into one folder and reads them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "analysis.lock.json").write_bytes(LOCK.canonical())

    def write(self, document: Notebook, name: str = "primary.ipynb") -> Path:
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def read(self, case: str = "plan_good.ipynb", change: Edit = lambda _: None) -> FrozenPlan:
        document = notebook(case)
        change(document)
        return read_plan(self.write(document), place="notebooks/plans/primary.ipynb")

    def with_cell(self, number: int, source: str) -> FrozenPlan:
        """Read the good case with another source in one cell, counted from 1."""

        def change(document: Notebook) -> None:
            document["cells"][number - 1]["source"] = source

        return self.read(change=change)


SHA = {letter: letter * 64 for letter in "abcdef0123456789"}
LIMITS = Limits(
    milli_cpus=1000,
    memory_bytes=1024**3,
    max_processes=128,
    network="none",
    capabilities_dropped=True,
    no_new_privileges=True,
)


def over_all(challenges: tuple[str, ...]) -> PlannedEndpoint:
    """Return a claim over all challenges, whether or not one of them repeats."""
    return PlannedEndpoint(
        id="solved",
        hypothesis="Memory changes which tasks are solved.",
        challenges=challenges,
        lines="overall",
        family="clusters",
    )


def make_cohort(pairs: tuple[PlannedPair, ...], *endpoints: PlannedEndpoint) -> Cohort:
    """Return a cohort whose challenges and conditions are those that the pairs name."""
    challenges = tuple(sorted({pair.challenge for pair in pairs}))
    named = sorted({name for pair in pairs for name in (pair.control, pair.treatment)})
    return Cohort(
        id="demo",
        version=1,
        title="Does memory help here?",
        question="Does the memory change which tasks the agent solves?",
        challenges=challenges,
        fixtures=tuple(sorted({pair.fixture for pair in pairs})),
        conditions=tuple(
            Condition(
                id=name,
                memory=None
                if name == "none"
                else MemoryCondition(graph_arm=name, channels=("tool-pull",)),
            )
            for name in named
        ),
        agent=ReactAgent(adapter="react", max_steps=20),
        model=ScriptedModel(
            kind="scripted", name="demo", policy="policies/demo.json", policy_sha256=SHA["a"]
        ),
        provisioner=Provisioner(
            name="reference",
            build="0.1.0",
            argv=("memory",),
            serve=("memory", "serve"),
            embedding="lexical",
        ),
        rules=RunRules(allowed_isolation=("namespace",)),
        analysis=NotebookPlan(
            notebook="notebooks/plans/primary.ipynb",
            plan_sha256=SHA["0"],
            alpha_ppm=50_000,
            endpoints=endpoints or (over_all(challenges),),
        ),
        pairs=pairs,
    )


def planned(name: str, challenge: str = "rename", treatment: str = "populated") -> PlannedPair:
    """Return a planned pair against the condition without memory."""
    return PlannedPair(
        id=name, challenge=challenge, fixture="shop", control="none", treatment=treatment, seed=1
    )


class ReceiptsBuilder:
    """Writes receipts through the contracts, as a run leaves them."""

    def __init__(self, root: Path, cohort: Cohort) -> None:
        self.root = root
        self.cohort = cohort
        root.mkdir(parents=True, exist_ok=True)
        (root / "cohort.json").write_bytes(cohort.canonical())
        (root / "receipts").mkdir(exist_ok=True)

    def arm(self, pair: PlannedPair, attempt: str, arm: str, **changes: object) -> ArmReceipt:
        """Return an arm's receipt; `reward` makes it a completed one, `reason` a void one."""
        reward = changes.pop("reward", None)
        condition = pair.control if arm == "control" else pair.treatment
        remembers = condition == "populated"
        item = Delivered(
            item="n-0001",
            channel="tool-pull",
            by="mark",
            step_id=3,
            is_partial=False,
            confirmed_on_wire=True,
        )
        receipt = ArmReceipt(
            cohort=self.cohort.id,
            cohort_version=self.cohort.version,
            lock_sha256=SHA["1"],
            pair=pair.id,
            attempt=attempt,
            arm=arm,
            condition=condition,
            status="void" if reward is None else "completed",
            reason=changes.pop("reason", None),
            detail=changes.pop("detail", ""),
            model_kind="scripted",
            model="demo",
            agent="react 0.1.0",
            started_at="2026-01-01T00:00:00Z",
            milliseconds=1500,
            launch=None,
            sandbox=SandboxFacts(
                sandbox="local",
                isolation="namespace",
                image="tree:" + SHA["2"],
                workspace_sha256=SHA["2"],
                limits=LIMITS,
                user="1000:1000",
                locale="C.UTF-8",
                time_zone="UTC",
                home_was_fresh=True,
                parents_hidden=True,
                engine="bubblewrap 0.8",
            ),
            processes=(),
            usage=Usage(input_tokens=100, output_tokens=20, requests=4),
            steps=6,
            mutations=None,
            verdict=None,
            reward=reward,
            delivery=Delivery(items=(item,) if remembers else (), in_prompt=(), disagreements=()),
            use=Use(used=remembers, evidence=(), step_ids=()),
            memory=None,
            files=(),
        )
        return receipt.model_copy(update=changes)

    def pair(self, pair: PlannedPair, attempt: str = "a1", **arms: ArmReceipt) -> PairReceipt:
        """Write an attempt; it is completed if both arms are, and else void."""
        lost = [arm for arm in arms.values() if arm.status != "completed"]
        is_whole = len(arms) == 2 and not lost
        rewards = {name: arm.reward or 0 for name, arm in arms.items()}
        receipt = PairReceipt(
            cohort=self.cohort.id,
            cohort_version=self.cohort.version,
            lock_sha256=SHA["1"],
            pair=pair.id,
            challenge=pair.challenge,
            fixture=pair.fixture,
            attempt=attempt,
            seed=pair.seed,
            order=("control", "treatment"),
            status="completed" if is_whole else "void",
            reason=lost[0].reason if lost else None if is_whole else "premise-difference",
            detail=lost[0].detail if lost else "",
            key=self.key(pair),
            build_under_test="reference 0.1.0",
            started_at="2026-01-01T00:00:00Z",
            milliseconds=4000,
            preparation_sha256=SHA["3"],
            premise=None,
            change=change(rewards) if is_whole else None,
            arms=tuple(
                ArmDigest(arm=name, attempt=attempt, sha256=arm.canonical_sha256())
                for name, arm in sorted(arms.items())
            ),
            destroy=(),
        )
        self.write(receipt, arms)
        return receipt

    def key(self, pair: PlannedPair) -> ComparabilityKey:
        """Return the comparability key that all pairs of a challenge share."""
        return ComparabilityKey(
            challenge_sha256=sha256(pair.challenge.encode()),
            fixture_sha256=SHA["4"],
            model="demo",
            agent="react",
            control_sha256=SHA["5"],
            treatment_sha256=SHA["6"],
            manifest_sha256=SHA["7"],
            verifier_sha256=SHA["8"],
            source_commit="9" * 40,
            limits_sha256=SHA["9"],
        )

    def write(self, receipt: PairReceipt, arms: dict[str, ArmReceipt]) -> None:
        folder = self.root / "receipts" / receipt.pair / receipt.attempt
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pair.json").write_bytes(receipt.canonical())
        for name, arm in arms.items():
            (folder / name).mkdir(exist_ok=True)
            (folder / name / "receipt.json").write_bytes(arm.canonical())
            (folder / name / "trajectory.json").write_bytes(trajectory(arm).canonical())

    def outcome(self, pair: PlannedPair, control: int, treatment: int, attempt: str = "a1") -> None:
        """Write a completed attempt with these rewards."""
        self.pair(
            pair,
            attempt,
            control=self.arm(pair, attempt, "control", reward=control),
            treatment=self.arm(pair, attempt, "treatment", reward=treatment),
        )


def change(rewards: dict[str, int]) -> Change:
    """Return the paired outcome of two rewards."""
    outcomes = {(0, 1): "gained", (1, 0): "lost", (1, 1): "both-passed", (0, 0): "both-failed"}
    control, treatment = rewards["control"], rewards["treatment"]
    return Change(
        outcome=outcomes[control, treatment],
        control_reward=control,
        treatment_reward=treatment,
    )


def trajectory(arm: ArmReceipt, text: str = "look in the notes") -> Trajectory:
    """Return a short session: a prompt, a call, and, with memory, one delivered item."""
    mark = "<!-- memory channel=tool-pull item=n-0001 sha256=9f2c41d07be3 -->"
    note = f"{mark}\nuse the blue label\n<!-- /memory item=n-0001 -->"
    answer = note if arm.condition == "populated" else "nothing found"
    call = ToolCall(tool_call_id="c1", function_name="memory_search", arguments={"query": text})
    return Trajectory(
        agent=TrajectoryAgent(name="react", version="0.1.0"),
        steps=(
            Step(step_id=1, source="system", message="You are an agent."),
            Step(step_id=2, source="user", message="Rename the label."),
            Step(
                step_id=3,
                source="agent",
                message=text,
                tool_calls=(call,),
                observation=Observation(
                    results=(ObservationResult(source_call_id="c1", content=answer),)
                ),
            ),
            Step(step_id=4, source="agent", message="Done."),
        ),
    )


def executed(builder: ReceiptsBuilder, out: Path) -> Execution:
    """Return what a run of the primary plan gives, made in this process without a kernel."""
    plan = read_plan(PRIMARY, place="notebooks/plans/primary.ipynb")
    receipts = load(builder.root)
    made = {}
    for output in plan.outputs:
        settings = {"alpha_ppm": 50_000} if output.id in {"arms", "summary"} else {}
        frame = getattr(tables, output.id)(receipts, **settings)
        rows = declared_rows(output, frame)
        made[output.id] = build_table("test", output, rows, plan.plan_sha256)
    record = ExecutionRecord(
        status="completed",
        plan=plan.place,
        plan_sha256=plan.plan_sha256,
        inputs_sha256=SHA["a"],
        parameters={},
        network="isolated",
        files="scratch-only",
        isolation="bubblewrap",
        python="3.11",
        other_versions=(),
        libraries=(),
        milliseconds=1,
        cell_milliseconds=(),
        error=None,
        traceback=(),
    )
    return Execution(plan, record, tables_index(plan, SHA["a"], {}, made), made, out)
