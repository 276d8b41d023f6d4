"""What every arm finds, whichever sandbox it runs in: places, variables, permissions, times.

No name here may tell an agent what it takes part in: it sees all of them.
"""

from __future__ import annotations

import hashlib

from benchlib.contracts.tree import TreeEntry, laid_permissions

WORKSPACE, HOME, AGENT, DOOR = "/workspace", "/home/agent", "/opt/agent", "/run/door"
VERIFIER, VERDICT = "/verifier", "/verdict"
VERDICT_FILE = "verdict.json"
VERDICT_LIMIT_BYTES = 1024 * 1024
JUDGE_OUTPUT_BYTES = 256 * 1024  # of a verifier's output each, kept for a person
HOST_NAME = "localhost"
USER_ID = 1000

FIXED_TIME = 1_577_836_800
"""Every file's modification time: 2020-01-01T00:00:00Z. ZIP archives begin in 1980, so not 0."""

CONFIGURATION_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "CLAUDE_CONFIG_DIR": ".claude",  # else ~/.claude and ~/.claude.json
    "CODEX_HOME": ".codex",  # must exist, or the program refuses to start
}
"""Variables that say where programs look for settings, and fresh folders below the home."""

LOCALE, TIME_ZONE = "C.UTF-8", "UTC"


def arm_environment(home: str, path: str) -> dict[str, str]:
    """Return the whole environment of an arm; an adapter may add to it.

    Args:
        home: The home as the agent sees it.
        path: What PATH shall be.
    """
    return {
        "PATH": path,
        "HOME": home,
        "LANG": LOCALE,
        "LC_ALL": LOCALE,
        "TZ": TIME_ZONE,
        **{name: f"{home}/{folder}" for name, folder in CONFIGURATION_FOLDERS.items()},
    }


def judge_environment(home: str, path: str) -> dict[str, str]:
    """Return the whole environment of a verifier: nothing that the workspace could steer."""
    return {"PATH": path, "HOME": home, "LANG": LOCALE, "LC_ALL": LOCALE, "TZ": TIME_ZONE}


def as_laid(entry: TreeEntry) -> TreeEntry:
    """Return a sealed entry as a scan of an untouched arm finds it."""
    permissions = laid_permissions(entry.mode)
    return entry if entry.permissions == permissions else entry._replace(permissions=permissions)


def scratch_name(label: str) -> str:
    """Return the name under which a run's scratch folders are found again.

    The label itself may hold a cohort's name, and an agent can see the path.
    """
    return "w-" + hashlib.sha256(label.encode()).hexdigest()[:12]
