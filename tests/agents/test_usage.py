"""Case 9: tokens are counted once."""

from __future__ import annotations

from pathlib import Path

from benchlib.agents import count_usage
from benchlib.contracts.usage import Usage
from benchlib.gateway import usage_differences


def _lines(repository: Path, *names: str) -> list[bytes]:
    folder = repository / "tests/cases/apparatus"
    return [line for name in names for line in (folder / name).read_bytes().splitlines()]


def test_case_9_one_response_is_counted_once_and_its_last_usage_counts(repository: Path) -> None:
    assert count_usage(_lines(repository, "usage_main.jsonl")) == Usage(
        input_tokens=15,
        cache_read_tokens=2200,
        cache_write_tokens=200,
        output_tokens=120,
        requests=2,
    )


def test_case_9_sub_agents_are_added(repository: Path) -> None:
    lines = _lines(repository, "usage_main.jsonl", "usage_subagent.jsonl")
    assert count_usage(lines) == Usage(
        input_tokens=315,
        cache_read_tokens=2200,
        cache_write_tokens=600,
        output_tokens=170,
        requests=3,
    )


def test_case_9_the_meter_decides_and_a_difference_is_told(repository: Path) -> None:
    metered = Usage(
        input_tokens=315,
        cache_read_tokens=2200,
        cache_write_tokens=600,
        output_tokens=170,
        requests=3,
    )
    whole = count_usage(_lines(repository, "usage_main.jsonl", "usage_subagent.jsonl"))
    assert usage_differences(metered, whole) == ()
    main_alone = count_usage(_lines(repository, "usage_main.jsonl"))
    assert usage_differences(metered, main_alone) == (
        "input_tokens: 315 metered, 15 in the log",
        "cache_write_tokens: 600 metered, 200 in the log",
        "output_tokens: 170 metered, 120 in the log",
        "requests: 3 metered, 2 in the log",
    )


def test_a_damaged_line_counts_nothing_and_hides_nothing(repository: Path) -> None:
    lines = _lines(repository, "usage_main.jsonl")
    assert count_usage([*lines, b'{"type": "assist', b"\xff"]) == count_usage(lines)
