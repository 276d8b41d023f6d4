"""Programs under test, not tests: nothing here may be imported."""

collect_ignore_glob = ["*.py"]
