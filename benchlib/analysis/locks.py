"""The library lock: under which Python and which libraries an analysis was frozen.

The same cell under another library is another analysis, so the lock's versions
are part of a plan's digest. What is installed is compared with it at each run and
the difference is recorded in words; byte equality of the tables decides.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Sequence

from benchlib.analysis.declarations import AnalysisLock, Library, PlanObject

_PROBE = """
import importlib, json, sys
bare = set(sys.modules)
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - bare})))
"""


def python_version() -> str:
    """Return major and minor version of the running Python."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def make_lock(modules: Sequence[str]) -> AnalysisLock:
    """Lock every distribution that importing some modules reaches.

    Args:
        modules: What the plan's cells import, such as ``benchlib.analysis.frames``.

    Returns:
        The lock, by normalised name; no index, address or path is in it.
    """
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-B", "-c", _PROBE, json.dumps(list(modules))],
        capture_output=True,
        check=True,
    )
    owners = importlib.metadata.packages_distributions()
    names = {owner for module in json.loads(done.stdout) for owner in owners.get(module, ())}
    names.add("benchlib")  # an editable install doesn't list its modules
    libraries = {
        normalised(name): Library(name=normalised(name), version=importlib.metadata.version(name))
        for name in names
    }
    ordered = tuple(libraries[name] for name in sorted(libraries))
    return AnalysisLock(python=python_version(), libraries=ordered)


def normalised(name: str) -> str:
    """Return a distribution's name as PEP 503 writes it.

    Example:
        >>> normalised("vl_convert.Python")
        'vl-convert-python'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def used_versions(pinned: Sequence[Library]) -> tuple[Library, ...]:
    """Return the pinned libraries with the installed versions; absent ones are left out."""
    used = []
    for library in pinned:
        try:
            version = importlib.metadata.version(library.name)
        except importlib.metadata.PackageNotFoundError:
            continue
        used.append(Library(name=library.name, version=version))
    return tuple(used)


def differences(plan: PlanObject, used: Sequence[Library]) -> tuple[str, ...]:
    """Say which versions are not the pinned ones, one line each.

    Args:
        plan: The plan with its pinned versions.
        used: What is installed.

    Returns:
        Lines such as ``pandas 3.1.1 pinned, 3.2.0 used``; empty when all are the same.
    """
    installed = {library.name: library.version for library in used}
    lines = [
        f"{library.name} {library.version} pinned, {installed.get(library.name, 'none')} used"
        for library in plan.libraries
        if installed.get(library.name) != library.version
    ]
    if plan.python != python_version():
        lines.insert(0, f"Python {plan.python} pinned, {python_version()} used")
    return tuple(lines)
