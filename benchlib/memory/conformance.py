"""The conformance kit: lead a provisioner along the good path, and say what it does wrong.

1. Restore, then two snapshots around an idle second, with every check of a paid run.
2. The same content in a fresh project, beside the first: equal digest, another name.
3. An empty content beside them: nothing of the others is found in it.
4. A second restore into a live project fails, and leaves it as it was.
5. Destroy one: it can't be read any more, and the others are as they were.
6. Destroy it again, and a project that never was: both are well.
7. Kill a restore half-way, destroy by its run identity, restore again: as if nothing had been.
8. Destroy the rest: nothing can be read any more.

It brings its own small fixture: fifty notes, a topic that no text names, and questions.
A kind of question that a system says it can't answer is a remark; one that it answers
wrongly is a fault. What can't be seen from outside (a file elsewhere, a connection) is
left to a sandbox.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchlib.contracts.cohort import Provisioner, ProvisionerLimits
from benchlib.contracts.fixture import Artifact, Fixture, GitCorpus, GraphArm, Probe, ProbeKind
from benchlib.contracts.provisioner import (
    ProbeAnswer,
    ProvisionerCall,
    RestoreResponse,
    SnapshotResponse,
)
from benchlib.errors import escaped
from benchlib.memory._calls import PairFolder, ProvisionerError, ask, kill_restore
from benchlib.memory._checks import Fault, rank_of, snapshot_fault
from benchlib.memory._reasons import RULES
from benchlib.memory.provisioner import Restored, begin, destroy, read_back, restore, snapshot

KIT = Path(__file__).with_name("kit")
_NO_COMMIT = "0" * 40  # the kit's fixture has texts only, no tree
_MOMENTS = (0.3, 0.7)  # of a restore's time, at which it is killed
_NEVER_MADE = "r-0000000000never"


@dataclass(frozen=True)
class Wrong:
    """One thing that a provisioner does wrong."""

    step: str
    reason: str
    sentence: str


@dataclass(frozen=True)
class ConformanceReport:
    """What the kit saw."""

    argv: tuple[str, ...]
    steps: tuple[str, ...]  # that were looked at, in order
    wrong: tuple[Wrong, ...]
    remarks: tuple[str, ...]
    calls: tuple[ProvisionerCall, ...]
    is_complete: bool  # False: it stopped early, for the rest would tell nothing

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong

    def in_words(self) -> str:
        """Return the report for a terminal: a line for each step, a sentence for each fault."""
        lines = [f"provisioner: {escaped(' '.join(self.argv))}"]
        for step in self.steps:
            faults = [one for one in self.wrong if one.step == step]
            lines.append(f"  {'WRONG' if faults else 'ok   '}  {step}")
            for one in faults:
                lines.append(f"           {one.sentence} [{one.reason}]")
                lines.append(f"           next: {RULES[one.reason].next_step}")
        lines += [f"  note   {remark}" for remark in self.remarks]
        if not self.is_complete:
            lines.append("  The steps after this were not looked at.")
        count = len(self.wrong)
        counted = f"{count} thing{'' if count == 1 else 's'} wrong"
        lines.append("It keeps the protocol." if self.passed else f"{counted}.")
        return "\n".join(lines)


def run_conformance(
    argv: Sequence[str],
    *,
    limits: ProvisionerLimits | None = None,
    environment: Sequence[str] = (),
) -> ConformanceReport:
    """Say what a provisioner does wrong.

    Args:
        argv: Its program and first arguments; a verb is appended. Files may be named from here.
        limits: The limits of its calls; those of the protocol by default.
        environment: Names of variables that it may have beside the usual ones.

    Returns:
        The report; `passed` is the verdict, `in_words()` the text.
    """
    provisioner = Provisioner(
        name="provisioner",
        build="as found",
        argv=_absolute(argv),
        serve=("false",),
        embedding="unknown",
        environment=tuple(environment),
        limits=limits or ProvisionerLimits(),
    )
    with tempfile.TemporaryDirectory(prefix="memory-") as scratch:
        return _Check(provisioner, Path(scratch)).run()


def kit_fixture() -> Fixture:
    """Return the kit's fixture; its artifacts lie below ``KIT``."""
    return Fixture(
        id="harbour",
        corpus=GitCorpus(kind="git", location="none", commit=_NO_COMMIT),
        evidence_corpus=_pinned("evidence.jsonl"),
        graph_arms=(
            GraphArm(id="whole", graph=_pinned("whole.json"), least_items=51, probes_answer=True),
            GraphArm(id="none", graph=_pinned("none.json"), least_items=0, probes_answer=False),
        ),
        probes=(
            _probe("one-word", "fulltext", "quartzite-heron", "n-004"),
            # Shares no word with its note, only parts of words: text search finds nothing.
            _probe("other-words", "semantic", "storm of snow, weather proof shed", "n-005"),
            # The topic's id and title stand in no text: only an edge leads there.
            _probe("edge-only", "graph", "n-003", "k-71"),
        ),
        delivery_phrases=(),
    )


def _pinned(name: str) -> Artifact:
    data = (KIT / name).read_bytes()
    return Artifact(path=name, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def _probe(name: str, kind: ProbeKind, query: str, expected_id: str) -> Probe:
    return Probe(
        name=name,
        kind=kind,
        query=query,
        expected_id=expected_id,
        within_rank=3,
        is_required=False,  # a kind may be declined; `_answers_fault` judges what is answered
    )


def _absolute(argv: Sequence[str]) -> tuple[str, ...]:
    """Files named from here must still be found from a pair's folder; a bare program is on PATH."""
    return tuple(
        str(Path(word).absolute()) if Path(word).is_file() and (number or "/" in word) else word
        for number, word in enumerate(argv)
    )


class _StopError(Exception):
    """What is wrong leaves nothing more to look at."""


class _Check:
    """One run of the kit; each step is a method."""

    def __init__(self, provisioner: Provisioner, scratch: Path) -> None:
        self._provisioner = provisioner
        self._scratch = scratch
        self._fixture = kit_fixture()
        self._steps: list[str] = []
        self._wrong: list[Wrong] = []
        self._remarks: list[str] = []
        self._calls: list[ProvisionerCall] = []
        self._live: dict[str, Path] = {}  # projects, or run identities, that destroy is due for
        self._digest = ""  # of the first project's state
        self._is_complete = True

    def run(self) -> ConformanceReport:
        try:
            first = self._restore_and_read_back()
            second = self._same_content(first)
            self._empty_content(first)
            self._second_restore(first)
            if second:
                self._destroy_one(second, first)
            self._destroy_again()
            self._killed_restores(first)
        except _StopError:
            self._is_complete = False
        finally:
            self._destroy_rest()
        return ConformanceReport(
            argv=tuple(self._provisioner.argv),
            steps=tuple(self._steps),
            wrong=tuple(self._wrong),
            remarks=tuple(dict.fromkeys(self._remarks)),
            calls=tuple(self._calls),
            is_complete=self._is_complete,
        )

    def _restore_and_read_back(self) -> Restored:
        with self._step("restore, then two snapshots around an idle second", must_pass=True):
            first = self._restore("r-first-0001", "whole")
            evidence = read_back(self._provisioner, first, fixture=self._fixture)
            self._calls += evidence.calls[1:]
            self._digest = evidence.state_sha256
            self._refuse_if("snapshot", self._answers_fault(evidence.probes))
            self._remark_on_home(first)
        return first

    def _same_content(self, first: Restored) -> Restored | None:
        second = None
        with self._step("the same content in a fresh project, beside the first"):
            second = self._restore("r-second-0002", "whole")
            if second.project == first.project:
                self._refuse_if(
                    "restore", Fault("projects-not-apart", f"both are named {first.project!r}")
                )
            response = self._snapshot(second.project, second.working)
            self._refuse_if("snapshot", self._checked(response, second))
            self._refuse_if("snapshot", self._digest_fault(response, "state-digest-mismatch"))
        return second

    def _empty_content(self, first: Restored) -> None:
        with self._step("an empty content, beside the others"):
            empty = self._restore("r-empty-0003", "none")
            response = self._snapshot(empty.project, empty.working)
            self._refuse_if("snapshot", self._emptiness_fault(response))
            self._refuse_if("snapshot", self._checked(response, empty))
            self._must_be_as_it_was(first, "projects-not-apart")

    def _second_restore(self, first: Restored) -> None:
        with self._step("a second restore into a live project"):
            folder = PairFolder(first.working)
            try:
                call = ask(
                    self._provisioner, "restore", first.request, RestoreResponse, folder
                ).call
            except ProvisionerError as error:
                self._calls.append(error.call)
                if error.reason != "nonzero-exit":
                    raise
            else:
                self._calls.append(call)
                self._refuse_if(
                    "restore", Fault("restored-twice", "it answers as if all were well")
                )
            self._must_be_as_it_was(first, "restored-twice")

    def _destroy_one(self, gone: Restored, first: Restored) -> None:
        with self._step("destroy one of two"):
            self._destroy(gone.project)
            self._must_be_unreadable(gone.project, gone.working)
            self._must_be_as_it_was(first, "projects-not-apart")

    def _destroy_again(self) -> None:
        with self._step("destroy what is gone already, and what never was"):
            for project in ("r-second-0002", _NEVER_MADE):
                self._live[project] = self._scratch / project
                self._destroy(project)

    def _killed_restores(self, first: Restored) -> None:
        for number, moment in enumerate(_MOMENTS, 1):
            with self._step(f"restore again after kill -9 at {moment:.0%} of its time"):
                self._killed_restore(f"r-killed-{number:04}", first, moment)

    def _killed_restore(self, identity: str, first: Restored, moment: float) -> None:
        killed = self._scratch / f"{identity}-killed"
        begun = begin(
            self._provisioner,
            fixture_root=KIT,
            fixture=self._fixture,
            graph_arm="whole",
            run_identity=identity,
            working=killed,
        )
        self._live[identity] = killed
        seconds = first.call.milliseconds * moment / 1000
        kill_restore(self._provisioner, begun.request, begun.folder, seconds)
        self._destroy(identity)
        again = self._restore(identity, "whole")
        response = self._snapshot(again.project, again.working)
        self._refuse_if("snapshot", self._checked(response, again))
        self._refuse_if("snapshot", self._digest_fault(response, "state-digest-mismatch"))

    def _destroy_rest(self) -> None:
        with self._step("destroy the rest"):
            faults = []
            for project, working in list(self._live.items()):
                try:
                    self._destroy(project)
                    self._must_be_unreadable(project, working)
                except ProvisionerError as error:
                    faults.append(error)
            if faults:
                raise faults[0]

    # What the steps are made of.

    @contextmanager
    def _step(self, name: str, *, must_pass: bool = False) -> Iterator[None]:
        self._steps.append(name)
        try:
            yield
        except ProvisionerError as error:
            self._keep(error.calls)
            rule = RULES[error.reason]
            sentence = f"`{error.call.verb}` {rule.wrong}: {error.call.detail}."
            self._wrong.append(Wrong(name, error.reason, sentence))
            if must_pass:
                raise _StopError from error

    def _keep(self, calls: tuple[ProvisionerCall, ...]) -> None:
        self._calls += [call for call in calls if call not in self._calls]

    def _refuse_if(self, verb: str, fault: Fault | None) -> None:
        """Lay a fault to the last call of a verb."""
        if fault:
            call = next(call for call in reversed(self._calls) if call.verb == verb)
            failed = call.model_copy(update=fault._asdict())
            raise ProvisionerError(failed, name=self._provisioner.name)

    def _restore(self, identity: str, arm: str) -> Restored:
        working = self._scratch / identity
        self._live[identity] = working
        restored = restore(
            self._provisioner,
            fixture_root=KIT,
            fixture=self._fixture,
            graph_arm=arm,
            run_identity=identity,
            working=working,
        )
        del self._live[identity]
        self._live[restored.project] = working
        self._calls.append(restored.call)
        if restored.call.detail:
            self._remarks.append(f"restore: {restored.call.detail}")
        return restored

    def _snapshot(self, project: str, working: Path) -> SnapshotResponse:
        answer = snapshot(self._provisioner, project=project, working=working)
        self._calls.append(answer.call)
        return answer.response

    def _destroy(self, project: str) -> None:
        call = destroy(self._provisioner, project=project, working=self._live.pop(project))
        self._calls.append(call)
        if call.reason is not None:
            raise ProvisionerError(call, name=self._provisioner.name)

    def _must_be_unreadable(self, project: str, working: Path) -> None:
        try:
            self._snapshot(project, working)
        except ProvisionerError as error:
            self._calls.append(error.call)
            if error.reason == "nonzero-exit":
                return
            raise
        self._refuse_if("snapshot", Fault("destroyed-but-readable", f"project {project!r}"))

    def _must_be_as_it_was(self, first: Restored, reason: str) -> None:
        """Whatever was done to another project: the first one still reads as before."""
        try:
            response = self._snapshot(first.project, first.working)
        except ProvisionerError as error:
            self._calls.append(error.call)
            self._refuse_if(
                "snapshot", Fault(reason, f"the first can no longer be read: {error.call.detail}")
            )
        else:
            self._refuse_if("snapshot", self._digest_fault(response, reason))

    def _checked(self, response: SnapshotResponse, restored: Restored) -> Fault | None:
        probes = self._fixture.probes
        return snapshot_fault(response, probes, restored.arm, restored.text_sha256s)

    def _digest_fault(self, response: SnapshotResponse, reason: str) -> Fault | None:
        if response.state.digest == self._digest:
            return None
        return Fault(
            reason, f"state {response.state.digest[:12]}…, and at first {self._digest[:12]}…"
        )

    def _emptiness_fault(self, response: SnapshotResponse) -> Fault | None:
        """Return what a memory shows that holds nothing."""
        found = [name for name, answer in response.probes.items() if answer.hits]
        if found:
            return Fault("projects-not-apart", f"{found[0]!r} finds something in an empty project")
        if response.state.digest == self._digest:
            return Fault("projects-not-apart", "the empty project has the digest of the first")
        return None

    def _answers_fault(self, answers: dict[str, ProbeAnswer]) -> Fault | None:
        """A kind may be declined, all kinds may not, and what is answered must be right."""
        answered = [probe for probe in self._fixture.probes if answers[probe.name].answered]
        for probe in answered:
            if rank_of(probe, answers[probe.name]) is None:
                return Fault("memory-not-retrievable", _MISSED[probe.kind])
        declined = [probe for probe in self._fixture.probes if probe not in answered]
        self._remarks += [
            f"it does not answer {probe.kind} probes: a fixture that requires one refuses it"
            for probe in declined
        ]
        if answered:
            return None
        return Fault("memory-not-retrievable", "it answers no probe of any kind")

    def _remark_on_home(self, restored: Restored) -> None:
        home = PairFolder(restored.working).home
        left = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
        if left:
            self._remarks.append(
                f"it leaves {len(left)} files in HOME, such as {escaped(left[0])}:"
                " in an agent's own home they would be undeclared changes"
            )


_MISSED = {
    "fulltext": "a word that stands in one note does not find it",
    "semantic": "a question in other words does not find its note: a search by words is no"
    " semantic search; say `answered: false` instead",
    "graph": "an edge does not lead to its end, which no text names: say `answered: false`"
    " where there are no edges",
}
