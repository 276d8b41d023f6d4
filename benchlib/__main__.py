"""``python -m benchlib``: the same as ``benchlib``."""

from benchlib.cli import entry

if __name__ == "__main__":
    entry()
