"""How a plan's kernel is started: which argv, which environment, behind which walls.

The environment is built, not inherited. Three ways, the best that works here:
bubblewrap (no network, a read-only root, empty home and temporary folders),
``unshare`` (no network; files are open), and the guard alone. The words in the
record say which it was.
"""

from __future__ import annotations

import functools
import os
import pwd
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

Isolation = Literal["bubblewrap", "unshare", "guard"]

_KERNEL = ("-s", "-P", "-B", "-X", "utf8", "-m", "benchlib.analysis._kernel")
_BUBBLEWRAP = (
    "bwrap",
    "--unshare-net",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
)


def kernel_environment(scratch: Path, hash_seed: int) -> dict[str, str]:
    """Return the whole environment of a plan's kernel.

    Args:
        scratch: The run's folder; homes and configuration lie inside.
        hash_seed: 0, but for a test that asks whether the seed shows.

    Returns:
        Names and values; nothing else of the caller's environment is handed on.
    """
    home = scratch / "home"
    inside = {
        "HOME": home,
        "TMPDIR": home / "tmp",
        "IPYTHONDIR": home / "ipython",
        "JUPYTER_CONFIG_DIR": home / "jupyter",
        "JUPYTER_DATA_DIR": home / "jupyter-data",
        "JUPYTER_RUNTIME_DIR": home / "jupyter-run",
        "MPLCONFIGDIR": home / "matplotlib",
        "XDG_CACHE_HOME": home / "cache",
        "XDG_CONFIG_HOME": home / "config",
        "XDG_DATA_HOME": home / "data",
        "XDG_STATE_HOME": home / "state",
    }
    return {
        "PATH": "/usr/bin:/bin",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": str(hash_seed),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    } | {name: str(path) for name, path in inside.items()}


def kernel_argv(
    isolation: Isolation, scratch: Path, inputs: Mapping[str, Path], environment: Mapping[str, str]
) -> list[str]:
    """Return the command that starts the kernel; ``{connection_file}`` is filled in later.

    Args:
        isolation: The walls.
        scratch: The run's folder, the only one that can be written.
        inputs: What lies below ``in/``, by name; read-only behind bubblewrap.
        environment: As built; bubblewrap clears its own.

    Returns:
        The argv.
    """
    kernel = [sys.executable, *_KERNEL, "{connection_file}", str(scratch)]
    if isolation == "unshare":
        return ["unshare", "--user", "--map-root-user", "--net", "--", *kernel]
    if isolation == "guard":
        return kernel
    argv = [*_BUBBLEWRAP]
    for folder in _emptied():
        argv += ["--tmpfs", str(folder)]
    for folder in _needed():
        argv += ["--ro-bind", str(folder), str(folder)]
    argv += ["--bind", str(scratch), str(scratch)]
    for name, path in inputs.items():
        argv += ["--ro-bind", str(path.resolve()), str(scratch / "in" / name)]
    argv += ["--clearenv"]
    for name, value in environment.items():
        argv += ["--setenv", name, value]
    return [*argv, "--chdir", str(scratch), "--", *kernel]


def _emptied() -> list[Path]:
    """Return the folders that a plan must find empty: temporary ones, sockets, homes."""
    homes = {Path(pwd.getpwuid(os.getuid()).pw_dir), Path(os.environ.get("HOME", "/"))}
    folders = {Path("/tmp"), Path("/run"), Path("/var/tmp"), *homes}  # noqa: S108 - to be emptied
    return sorted(folder for folder in folders if folder.is_dir() and folder != Path("/"))


def _needed() -> list[Path]:
    """Return what Python needs to run, in case it lies below an emptied folder."""
    paths = {
        Path(sys.prefix),
        Path(sys.base_prefix),
        Path(sys.executable).resolve().parent,
        Path(sysconfig.get_paths()["purelib"]),
        Path(sysconfig.get_paths()["platlib"]),
        Path(__file__).parents[1],  # the package
    }
    emptied = _emptied()
    below = {path for path in paths if any(path.is_relative_to(folder) for folder in emptied)}
    return sorted(path for path in below if path not in emptied)


@functools.cache
def best_isolation() -> Isolation:
    """Return the best walls that this machine gives; each is tried, not looked for."""
    bubblewrap = [*_BUBBLEWRAP, "--", "true"]
    unshare = ["unshare", "--user", "--map-root-user", "--net", "--", "true"]
    if _works(bubblewrap):
        return "bubblewrap"
    return "unshare" if _works(unshare) else "guard"


def _works(argv: list[str]) -> bool:
    try:
        done = subprocess.run(argv, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
