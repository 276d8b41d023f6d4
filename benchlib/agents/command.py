"""Any program as an agent: it is started with a prompt in a file, and judged by its workspace."""

from __future__ import annotations

from collections.abc import Mapping

from benchlib.contracts.boundaries import ArmCommand, ArmPaths, Task, Turn
from benchlib.contracts.trajectory import (
    Extra,
    FinalMetrics,
    Provenance,
    Step,
    Trajectory,
    TrajectoryAgent,
)
from benchlib.errors import InWords, OutsideError


class CommandAdapter:
    """An argv in which ``{prompt}`` is the prompt's file, ``{step}`` the step's number.

    ``{socket}`` is the model's door, for a program that wants it.

    Args:
        argv: The program and its arguments.
    """

    name = "command"
    version = "1"
    log: str | None = None

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv = argv

    def agent_files(self, task: Task) -> Mapping[str, bytes]:
        """Return one file per prompt, and the token of the door where there is one."""
        files = {
            f"prompt-{step}.txt": text.encode() for step, text in enumerate(task.prompts, start=1)
        }
        return {**files, "token": task.token.encode()}

    def command(self, task: Task, paths: ArmPaths) -> ArmCommand:
        """Return the argv of each step."""
        return ArmCommand(
            steps=tuple(
                tuple(_filled(part, step, paths) for part in self._argv)
                for step in range(1, len(task.prompts) + 1)
            ),
            environment={},
        )

    def trajectory(self, log: bytes | None, turns: tuple[Turn, ...], task: Task) -> Trajectory:
        """Return the prompts as user steps, and what the program printed as its own words.

        A program that prints nothing is not at fault: what it did stands in the workspace.

        Args:
            log: Not used; such a program has none.
            turns: The turns that were taken, maybe fewer than prompts.
            task: What the agent was told.

        Returns:
            Two steps for each turn.

        Raises:
            OutsideError: No turn was taken.
        """
        del log
        if not turns:
            raise OutsideError(
                "command agent",
                found=InWords("no turn"),
                allowed="one turn or more",
                next_step="look at why the sandbox started nothing",
            )
        steps: list[Step] = []
        for number, (prompt, turn) in enumerate(zip(task.prompts, turns, strict=False), start=1):
            asked = Extra(benchlib=Provenance(task_step=number))
            printed = Extra(benchlib=Provenance(task_step=number, is_truncated=_is_cut(turn)))
            said = (turn.stdout + turn.stderr).decode(errors="replace")
            steps += [
                Step(step_id=len(steps) + 1, source="user", message=prompt, extra=asked),
                Step(step_id=len(steps) + 2, source="agent", message=said, extra=printed),
            ]
        return Trajectory(
            session_id=task.session,
            agent=TrajectoryAgent(name=self.name, version=self.version),
            steps=tuple(steps),
            final_metrics=FinalMetrics(total_steps=len(steps)),
        )


def _is_cut(turn: Turn) -> bool:
    kept = len(turn.stdout) + len(turn.stderr)
    return kept < turn.record.stdout_bytes + turn.record.stderr_bytes


def _filled(part: str, step: int, paths: ArmPaths) -> str:
    places = {
        "{prompt}": f"{paths.agent}/prompt-{step}.txt",
        "{step}": str(step),
        "{socket}": f"{paths.door}/model.sock",
        "{token}": f"{paths.agent}/token",
    }
    for name, place in places.items():
        part = part.replace(name, place)
    return part
