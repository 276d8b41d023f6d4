"""The part's public names, and that a kernel or `--help` loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchlib import analysis


def test_every_public_name_is_there_again_and_again() -> None:
    for name in analysis.__all__:
        first = getattr(analysis, name)
        assert getattr(analysis, name) is first
        assert first.__doc__ if callable(first) else isinstance(first, str)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        analysis.nothing_of_ours  # noqa: B018 - the access is the test


def test_importing_the_part_loads_no_heavy_library() -> None:
    code = (
        "import sys, benchlib.analysis;"
        "print(sorted({'pandas', 'altair', 'papermill', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_plans_kernel_loads_no_chart_library() -> None:
    code = (
        "import sys, benchlib.analysis._kernel;"
        "from benchlib.analysis import emission, tables;"
        "print(sorted({'altair', 'papermill', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
