"""Plans run in a clean kernel, and what papermill calls a success is judged again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from analysis.support import Notebook, Plans

from benchlib.analysis._client import Limits
from benchlib.analysis._launch import Isolation, best_isolation
from benchlib.analysis.drift import PlanDriftError
from benchlib.analysis.execute import Execution, execute_plan, inputs_sha256
from benchlib.analysis.plans import FrozenPlan
from benchlib.errors import BenchlibError, InputError, OutsideError

WALLS: list[Isolation] = ["bubblewrap", "unshare", "guard"]
Run = Callable[..., Execution]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a plan and returns the execution."""

    def go(plan: FrozenPlan, *, out: str = "out", **settings: object) -> Execution:
        settings = {"inputs": {}, "expected_plan_sha256": plan.plan_sha256} | settings
        return execute_plan(plan, out=tmp_path / out, **settings)  # type: ignore[arg-type] # keywords

    return go


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Execution:
    """The good case, run once."""
    folder = tmp_path_factory.mktemp("good")
    plan = Plans(folder / "plans").read()
    return execute_plan(plan, expected_plan_sha256=plan.plan_sha256, inputs={}, out=folder / "out")


def refused(run: Run, plan: FrozenPlan, **settings: object) -> BenchlibError:
    with pytest.raises(BenchlibError) as error:
        run(plan, **settings)
    return error.value


def csv(made: Execution) -> bytes:
    return (made.out / "tables" / "outcome.csv").read_bytes()


def test_a_plan_leaves_its_tables_with_digests_and_tells_each_cell(plans: Plans, run: Run) -> None:
    lines: list[str] = []
    made = run(plans.read(), progress=lines.append)
    assert csv(made) == b"challenge,with_memory,without_memory\na,1,0\nb,1,1\n"
    written = {path.relative_to(made.out).as_posix() for path in made.out.rglob("*")}
    assert written == {
        "tables",
        "tables/outcome.csv",
        "tables/outcome.json",
        "tables.json",
        "execution.json",
        "executed.ipynb",
    }
    assert [line.partition(":")[0] for line in lines] == [
        "cell 2 of 4 (parameters)",
        "cell 3 of 4 (load)",
        "cell 4 of 4 (table outcome)",
    ]
    assert made.record.isolation == best_isolation()


def test_the_table_names_its_plan_and_not_its_inputs(good: Execution) -> None:
    table = json.loads((good.out / "tables" / "outcome.json").read_bytes())
    assert table["plan_sha256"] == good.plan.plan_sha256
    assert "inputs_sha256" not in table
    assert json.loads((good.out / "tables.json").read_bytes())["inputs_sha256"]


def test_another_dress_gives_the_same_bytes_and_no_time_path_or_id_is_kept(
    plans: Plans, run: Run, good: Execution
) -> None:
    dressed = run(plans.read("plan_good_other_dress.ipynb"))
    assert csv(dressed) == csv(good)
    name = "executed.ipynb"
    assert (dressed.out / name).read_bytes() == (good.out / name).read_bytes()


def test_sets_do_not_show_in_the_bytes_whatever_the_hash_seed(plans: Plans, run: Run) -> None:
    plan = plans.read("plan_set_order.ipynb")
    one, other = run(plan, hash_seed=0), run(plan, out="other", hash_seed=4)
    assert csv(one) == csv(other)
    assert csv(one).splitlines()[1:] == [b"a,1,0", b"b,1,0", b"c,1,0", b"d,1,0"]


def test_a_drifted_plan_does_not_run_and_writes_nothing(
    plans: Plans, run: Run, tmp_path: Path
) -> None:
    with pytest.raises(PlanDriftError):
        run(plans.read("plan_drift.ipynb"), expected_plan_sha256=plans.read().plan_sha256)
    assert not (tmp_path / "out").exists()


def test_a_wrong_parameter_is_refused_before_a_kernel_starts(
    plans: Plans, run: Run, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        run(plans.read(), parameters={"alfa_ppm": 1}, limits=Limits(start_seconds=0))
    assert error.value.next_step == "write alpha_ppm"
    assert not (tmp_path / "out").exists()


HIDDEN_EXIT = 'import sys\ngetattr(sys, "ex" + "it")(0)'


def test_an_exit_that_hides_publishes_nothing(plans: Plans, run: Run, tmp_path: Path) -> None:
    def change(document: Notebook) -> None:
        document["cells"][3]["source"] = HIDDEN_EXIT

    error = refused(run, plans.read("plan_exit_zero.ipynb", change))
    assert error.exit_status == 3
    told = str(error)
    assert "cell 4 of 5 (load)\n  found    SystemExit: 0" in told
    assert "cell 5 of 5 (table outcome)\n  found    it never ran" in told
    assert "table outcome was not emitted" in told
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["execution-failed.json"]


FAILURES = [
    ("raise ValueError('no')", "cell 3 of 4 (load)", "ValueError: no"),
    ("import warnings\nwarnings.warn('old')\npairs = []", "cell 3 of 4 (load)", "old"),
    ("import sys\nsys.stderr.write('careful')\npairs = []", "cell 3 of 4 (load)", "careful"),
    (
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        "cell 3 of 4 (load)",
        "exit status 137",
    ),
    ("pairs = bytearray(20 * 1024**3)", "cell 3 of 4 (load)", "MemoryError"),
]


@pytest.mark.parametrize(("source", "place", "found"), FAILURES)
def test_a_cell_that_fails_is_named_with_its_source(
    plans: Plans, run: Run, source: str, place: str, found: str
) -> None:
    error = refused(run, plans.with_cell(3, source))
    assert isinstance(error, OutsideError)
    assert place in error.place
    assert found in error.found


def test_the_traceback_is_kept_beside_the_old_tables(
    plans: Plans, run: Run, good: Execution, tmp_path: Path
) -> None:
    shutil.copytree(good.out, tmp_path / "out")
    refused(run, plans.with_cell(3, "raise ValueError('no')"))
    failed = json.loads((tmp_path / "out" / "execution-failed.json").read_bytes())
    assert failed["status"] == "failed"
    assert any("ValueError" in line for line in failed["traceback"])
    assert (tmp_path / "out" / "tables" / "outcome.csv").read_bytes() == csv(good)


def test_a_cell_that_hangs_is_stopped_and_named(plans: Plans, run: Run) -> None:
    plan = plans.with_cell(3, "import threading\nthreading.Event().wait()")
    error = refused(run, plan, limits=Limits(cell_seconds=2))
    assert "cell 3 of 4" in error.place
    assert error.found == "no end in time"


def test_a_plan_that_takes_too_long_is_stopped_and_its_cell_named(plans: Plans, run: Run) -> None:
    plan = plans.with_cell(3, "import threading\nthreading.Event().wait()")
    error = refused(run, plan, limits=Limits(plan_seconds=2))
    assert "cell 3 of 4" in error.place
    assert error.found == "no end in time"


def test_a_failed_kernel_start_says_what_the_kernel_said_last(plans: Plans, run: Run) -> None:
    error = refused(run, plans.read(), limits=Limits(memory_bytes=50 * 1024**2))
    assert error.exit_status == 3
    assert "did not start" in error.found


WRONG_TABLES = [
    ('emit("outcome", [("a", 1.0, 0)])', "table outcome, row 1, column with_memory"),
    ('emit("outcome", [("a", 1)])', "table outcome, row 1"),
    ('emit("outcome", [("a", 1, 0), ("a", 1, 1)])', "order challenge"),
    ('twice = emit\ntwice("outcome", pairs)\nemit("outcome", pairs)', "table outcome"),
    ('other = emit\nother("second", pairs)\nemit("outcome", pairs)', "table second"),
]


@pytest.mark.parametrize(("source", "field"), WRONG_TABLES)
def test_a_table_that_is_not_as_declared_is_refused_at_its_cell(
    plans: Plans, run: Run, source: str, field: str
) -> None:
    error = refused(run, plans.with_cell(4, source))
    assert error.exit_status == 2
    assert "cell 4 of 4 (table outcome)" in error.place
    assert field in error.field


def test_a_value_that_a_call_displays_is_refused(plans: Plans, run: Run) -> None:
    error = refused(run, plans.with_cell(3, "pairs = [('a', 1, 0)]\nsorted(pairs)"))
    assert error.exit_status == 2
    assert "cell 3 of 4 (load)" in error.place
    assert "displayed value" in error.found


def test_a_file_that_nobody_declared_is_refused(plans: Plans, run: Run) -> None:
    source = "pairs = [('a', 1, 0)]\nopen('out/more.csv', 'w').close()"
    error = refused(run, plans.with_cell(3, source))
    assert (error.exit_status, error.field) == (2, "out/more.csv")


SWALLOWED = {
    'socket.create_connection(("192.0.2.1", 80), 2)': "tried to reach 192.0.2.1:80",
    'socket.getaddrinfo("example.org", 80)': "tried to reach example.org:80",
    'socket.socket(socket.AF_UNIX).connect("/run/docker.sock")': "tried to reach /run/docker.sock",
    'subprocess.run(["true"])': "tried to start a process: true",
    "os.fork()": "tried to start a process: a copy of itself",
    'open("/var/tmp/stray", "w")': "tried to write /var/tmp/stray",
    'os.mkdir("in/more")': "tried to change in/more (os.mkdir)",
    'os.remove("run.json")': "tried to change run.json (os.remove)",
}


def test_attempts_to_reach_out_are_errors_though_the_cell_swallows_them(
    plans: Plans, run: Run
) -> None:
    lines = ["import os, socket, subprocess", "pairs = [('a', 1, 0), ('b', 1, 1)]"]
    for attempt in SWALLOWED:
        lines += ["try:", f"    {attempt}", "except OSError:", "    pass"]
    error = refused(run, plans.with_cell(3, "\n".join(lines)))
    assert error.exit_status == 3
    assert [one.found for one in (error, *error.also)] == list(SWALLOWED.values())
    assert {one.place for one in (error, *error.also)} == {
        "notebooks/plans/primary.ipynb: cell 3 of 4 (load)"
    }


@pytest.mark.parametrize("walls", WALLS)
def test_the_polite_network_case_is_refused_behind_every_wall(
    plans: Plans, run: Run, tmp_path: Path, walls: Isolation
) -> None:
    error = refused(run, plans.read("plan_network_swallowed.ipynb"), isolation=walls)
    assert "cell 3 of 4" in error.place
    assert error.found == "tried to reach 192.0.2.1:80"
    failed = json.loads((tmp_path / "out" / "execution-failed.json").read_bytes())
    assert failed["network"] == ("guarded" if walls == "guard" else "isolated")


# Around the guard: libc has no audit hooks. What holds is the namespace.
AROUND = """
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def reaches(family, address):
    handle = libc.socket(family, 1, 0)
    done = libc.connect(handle, address, len(address))
    return int(done == 0)
def exists(path):
    return int(libc.access(path.encode(), 0) == 0)
def writes(path):
    return int(libc.creat(path.encode(), 0o600) >= 0)
port = struct.pack("!H", PORT)
loopback = struct.pack("H", 2) + port + bytes([127, 0, 0, 1]) + bytes(8)
shell = b"bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT' 2>/dev/null"
pairs = [
    ("docker", exists("/run/docker.sock"), exists("/var/run/docker.sock")),
    ("home", exists("HOMEFILE"), writes("STRAY")),
    ("loopback", reaches(2, loopback), libc.system(shell) == 0),
]
pairs = [(name, int(one), int(other)) for name, one, other in pairs]
"""


@pytest.fixture
def listener() -> Iterator[int]:
    """A server on loopback that a plan must not reach."""
    import socket  # noqa: PLC0415 - only here

    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("walls", ["bubblewrap", "unshare"])
def test_what_goes_round_the_guard_still_meets_the_namespace(
    plans: Plans, run: Run, walls: Isolation, listener: int
) -> None:
    stray = Path(f"/var/tmp/stray-{os.getpid()}-{walls}")
    source = (
        AROUND.replace("PORT", str(listener))
        .replace("HOMEFILE", str(Path("~/.profile").expanduser()))
        .replace("STRAY", str(stray))
    )
    try:
        made = run(plans.with_cell(3, source), isolation=walls)
        rows = dict(line.split(b",", 1) for line in csv(made).splitlines())
        assert rows[b"loopback"] == b"0,0"
        if walls == "bubblewrap":
            assert rows[b"docker"] == b"0,0"
            assert rows[b"home"].startswith(b"0,")
            assert not stray.exists()
    finally:
        stray.unlink(missing_ok=True)


INSIDE = """
import os, locale
wanted = ["TZ", "LC_ALL", "PYTHONUTF8", "PYTHONHASHSEED", "OMP_NUM_THREADS", "PATH"]
foreign = sorted(set(os.environ) & {"PYTHONSTARTUP", "PYTHONPATH", "HTTP_PROXY", "SECRET_TOKEN"})
pairs = [(f"{name}={os.environ.get(name)}", hash("a") % 1000, 0) for name in wanted]
pairs += [(f"foreign {name}", 1, 0) for name in foreign]
pairs += [(f"sum {sum([1, 2])}", 0, 0), (os.environ["HOME"][-5:], 0, 0)]
pairs += [(os.path.basename(os.getcwd())[:3], 0, 0)]
"""


@pytest.mark.parametrize("walls", WALLS)
def test_nothing_of_the_users_account_reaches_a_plan(
    plans: Plans, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walls: Isolation
) -> None:
    home = tmp_path / "account"
    startup = home / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    spoil = "import builtins\nbuiltins.sum = lambda *a: 42\n"
    (startup / "00.py").write_text(spoil)
    (home / "start.py").write_text(spoil)
    (home / "pandas.py").write_text("raise RuntimeError('the wrong pandas')\n")
    kernel = home / ".local" / "share" / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    spec = {"argv": ["false"], "display_name": "x", "language": "python", "env": {"SECRET": "1"}}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    for name, value in {
        "HOME": str(home),
        "PYTHONSTARTUP": str(home / "start.py"),
        "PYTHONPATH": str(home),
        "PYTHONHASHSEED": "1",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "SECRET_TOKEN": "secret",
        "TZ": "Asia/Tokyo",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)
    text = csv(run(plans.with_cell(3, INSIDE), isolation=walls)).decode()
    names = {line.partition(",")[0] for line in text.splitlines()[1:]}
    assert names == {
        "TZ=UTC",
        "LC_ALL=C.UTF-8",
        "PYTHONUTF8=1",
        "PYTHONHASHSEED=0",
        "OMP_NUM_THREADS=1",
        "PATH=/usr/bin:/bin",
        "sum 3",
        "/home",
        "bl-",
    }


# Round the guard again: only the read-only mount keeps libc from the inputs.
INPUTS = """
import ctypes
text = open("in/receipts/one.txt").read()
pairs = [(text, ctypes.CDLL(None).unlink(b"in/receipts/one.txt"), 0)]
"""


def test_inputs_are_read_and_cannot_be_written(plans: Plans, run: Run, tmp_path: Path) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / "receipts" / "one.txt").write_text("a")
    made = run(plans.with_cell(3, INPUTS), inputs={"receipts": tmp_path / "receipts"})
    assert b"\na,-1,0\n" in csv(made)
    plan = plans.with_cell(3, "pairs = [(open('in/receipts/one.txt').read(), 1, 0)]")
    made = run(plan, inputs={"receipts": tmp_path / "receipts"}, isolation="guard")
    assert b"\na,1,0\n" in csv(made)


def test_the_digest_of_inputs_knows_content_and_names_alone(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "a").write_text("a")
    os.utime(tmp_path / "two" / "deep" / "a", (1, 1))
    one = inputs_sha256({"receipts": tmp_path / "one"})
    assert one == inputs_sha256({"receipts": tmp_path / "two"})
    assert one != inputs_sha256({"other": tmp_path / "one"})
    (tmp_path / "two" / "deep" / "a").write_text("b")
    assert one != inputs_sha256({"receipts": tmp_path / "two"})


def test_a_link_among_the_inputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "passwd").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="a link"):
        inputs_sha256({"in": tmp_path / "in"})


def test_other_tables_are_not_replaced_without_being_told(
    plans: Plans, run: Run, good: Execution, tmp_path: Path
) -> None:
    shutil.copytree(good.out, tmp_path / "out")
    made = run(plans.read(), overwrite=False)  # the same bytes
    (made.out / "tables" / "outcome.csv").write_text("mine\n")
    with pytest.raises(InputError, match=r"outcome\.csv"):
        run(plans.read(), overwrite=False)
    assert csv(made) == b"mine\n"
