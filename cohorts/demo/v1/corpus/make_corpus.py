"""Make parceldesk.bundle: the demo's project with its history, the same commit ids each time.

    python3 make_corpus.py [BUNDLE]

Each folder of `history/` is one commit: its files are laid over what was there before.
Names, dates and messages stand in the table below. Files that coding assistants load
unasked carry the ending `.txt` here, so that none of them loads them from this
repository; in the project they stand without it. Needs git. Prints the last commit's id.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

ASSISTANTS_FILES = {"CLAUDE.md.txt", "AGENTS.md.txt", ".cursorrules.txt"}

MAJA = ("Maja Öberg", "maja@parceldesk.example")
JON = ("Jon Hedlund", "jon@parceldesk.example")

# folder of history/, author, date, message
COMMITS = (
    ("01-parcels", MAJA, "2025-02-03T09:12:00+0100", "Know what a parcel is"),
    ("02-labels", MAJA, "2025-02-04T14:40:00+0100", "Print labels, cut to the carrier's stock"),
    ("03-queues", JON, "2025-02-11T10:05:00+0100", "Let parcels wait in queues"),
    ("04-surcharge", JON, "2025-02-18T16:31:00+0100", "Sum up the fuel surcharge of a day"),
    ("05-tracking", MAJA, "2025-02-25T08:55:00+0100", "Check tracking numbers before they leave"),
    ("06-scanner", MAJA, "2025-03-10T11:20:00+0100", "Read the scanner's file"),
    (
        "07-command",
        JON,
        "2025-03-12T15:02:00+0100",
        "Give the counter a command line\n\nFour words are enough: labels, report, drain, check.",
    ),
    ("08-assistants", JON, "2025-05-06T09:47:00+0200", "Tell the assistants how we work"),
    (
        "09-wrap",
        MAJA,
        "2025-06-17T13:15:00+0200",
        "Wrap long lines on labels\n\nThe street in Bygdsiljum lost its house number.",
    ),
    ("10-carriers", JON, "2025-09-01T10:30:00+0200", "Count parcels by carrier in the report"),
    ("11-handbook", MAJA, "2025-10-20T17:08:00+0200", "Write down the counter's day"),
)


def main(argv):
    """Make the bundle; return the exit status."""
    bundle = Path(argv[0] if argv else HERE / "parceldesk.bundle").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch, "repository")
        git(repository.parent, "init", "-q", "-b", "main", "--object-format=sha1", "repository")
        for folder, author, date, message in COMMITS:
            lay_over(repository, HERE / "history" / folder)
            git(repository, "add", "--all", "--force")
            git(repository, "commit", "-q", "-m", message, author=author, date=date)
        git(repository, "bundle", "create", "-q", str(bundle), "HEAD", "main")
        print(git(repository, "rev-parse", "HEAD").strip())
    return 0


def lay_over(repository, folder):
    """Copy a commit's files to their places."""
    for source in sorted(folder.rglob("*")):
        if source.is_dir() or "__pycache__" in source.parts:
            continue
        name = source.name.removesuffix(".txt") if source.name in ASSISTANTS_FILES else source.name
        target = repository / source.relative_to(folder).parent / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o644)


def git(folder, *argv, author=MAJA, date="2025-01-01T00:00:00+0000"):
    """Run git as if on a machine of its own: no configuration, a given person and time."""
    name, address = author
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {
            f"GIT_{who}_NAME": name,
            f"GIT_{who}_EMAIL": address,
            f"GIT_{who}_DATE": date,
        }
    command = ["git", "-c", "core.autocrlf=false", "-c", "pack.threads=1", *argv]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
