"""What redaction removes, and what it must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prepare.corpora import tree_of

from benchlib.contracts.fixture import Declarations
from benchlib.contracts.redaction import RedactionReceipt
from benchlib.contracts.tree import LINK, PreparedTree, scan_tree, tree_sha256
from benchlib.errors import InputError
from benchlib.prepare import BuiltTree, auto_loaded_paths, patterns_sha256, redact
from benchlib.prepare._autoload import found_in, is_ordinary, removed_by
from benchlib.prepare._links import follow, look_on_disk
from benchlib.prepare.patterns import AUTO_LOADED, AutoLoaded

NEAR_MISSES = (
    "docs/agent.md", "docs/realtime/gemini.md", "agents.py", "src/claude.md.j2",
    "src/CLAUDE.md.bak", "MY_AGENTS.md", "AGENTS.mdx", "src/claude/x.py", "claude/x.py",
    ".claude-plugin.json", ".github/workflows/ci.yml", ".github/CODEOWNERS", "rules/x.md",
    "skills/x.md", "MEMORY.md", "CONVENTIONS.md", "README.md", "CONTRIBUTING.md",
    ".vscode/settings.json", ".idx/dev.nix", "lib/rules", "test/data/agents.md",
    "docs/CONTEXT.md", "examples/AGENTS.md/x.txt", "src/.roorule", ".clinerules.txt",
    "instructions/x.md", "github/instructions/x.md", ".github/x/instructions/y.md", "mcp.json",
    "vscode/mcp.json", ".vscode/x/mcp.json", "docs/Claude.md", "src/context.py",
)  # fmt: skip


def examples_of(row: str) -> tuple[str, ...]:
    """Paths that a row names."""
    if row.endswith("*"):
        return (f"{row[:-1]}code", f"a/b/{row[:-1]}x")
    if row.endswith("/"):
        return (f"{row}x.md", f"a/b/{row}deep/y.txt")
    return (row,) if row == "CONTEXT.md" else (row, f"a/b/{row}")


def _receipt(folder: Path, files: dict[str, str], links: dict[str, str] | None = None,
             declarations: Declarations | None = None) -> RedactionReceipt:  # fmt: skip
    built = tree_of(folder, files, links or {})
    return redact(built, declarations or Declarations())[1]


def _removed(receipt: RedactionReceipt) -> dict[str, tuple[str, str]]:
    return {one.path: (one.reason, one.pattern) for one in receipt.removed}


@pytest.mark.parametrize("row", AUTO_LOADED, ids=lambda row: row.row)
def test_each_row_names_its_paths_and_carries_its_evidence(row: AutoLoaded) -> None:
    for path in examples_of(row.row):
        assert removed_by(path, is_link=False) is not None, path
    assert row.evidence.startswith(("observed", "documented", "a folder in the place of"))


_ANY = st.lists(
    st.sampled_from(["a", "docs", "AGENTS.md", "agents.md", ".claude", ".github", "instructions",
                     ".roorules-x", "CONTEXT.md", ".vscode", "mcp.json", "opencode.json", ".x"]),
    min_size=1, max_size=4,
).map("/".join)  # fmt: skip


@given(_ANY)
def test_the_fast_look_at_a_name_never_passes_what_a_row_names(path: str) -> None:
    if is_ordinary(path, path.rpartition("/")[2]):
        assert found_in(path, is_link=False, ignores_case=False) is None


def test_the_fast_look_passes_ordinary_names() -> None:
    assert all(is_ordinary(f"src/deep/{name}", name) for name in ("a.py", "README.md", "agents.md"))


@pytest.mark.parametrize("path", NEAR_MISSES)
def test_a_near_miss_is_left_alone(path: str) -> None:
    assert removed_by(path, is_link=False) is None


def test_near_misses_stay_in_a_real_tree(tmp_path: Path) -> None:
    files = dict.fromkeys(NEAR_MISSES, "text\n")
    built = tree_of(tmp_path, files)
    clean, receipt = redact(built, Declarations())
    assert receipt.removed == ()
    assert {entry.path for entry in clean.entries} == set(NEAR_MISSES)


def test_every_row_at_work_in_a_real_tree(tmp_path: Path) -> None:
    """A name that stands as a file and as a folder is tried as a folder below another."""
    files = {f"{number}/{path}": "x\n" for number, row in enumerate(AUTO_LOADED)
             for path in examples_of(row.row) if row.row != "CONTEXT.md"}  # fmt: skip
    files |= {"CONTEXT.md": "x\n", "keep.txt": "x\n"}
    built = tree_of(tmp_path, files)
    clean, receipt = redact(built, Declarations())
    assert [entry.path for entry in clean.entries] == ["keep.txt"]
    assert {one.pattern for one in receipt.removed} == {row.row for row in AUTO_LOADED}
    assert [path.name for path in clean.root.iterdir()] == ["keep.txt"]


@pytest.mark.parametrize(
    ("path", "row"),
    [("agents.md", "AGENTS.md"), ("Claude.MD", "CLAUDE.md"), ("context.md", "CONTEXT.md"),
     ("agent.md", "AGENT.md"), (".Cursorrules", ".cursorrules"), (".MCP.json", ".mcp.json")],
)  # fmt: skip
def test_at_the_root_a_case_variant_goes_too(path: str, row: str, tmp_path: Path) -> None:
    receipt = _receipt(tmp_path, {path: "x", f"docs/{path}": "x"})
    assert _removed(receipt) == {path: ("root-case-variant", row)}


def test_a_case_variant_of_a_folder_is_no_variant(tmp_path: Path) -> None:
    assert _receipt(tmp_path, {".Claude/x.md": "x"}).removed == ()


def test_context_below_the_root_stays(tmp_path: Path) -> None:
    assert _removed(_receipt(tmp_path, {"CONTEXT.md": "x", "src/CONTEXT.md": "x"})) == {
        "CONTEXT.md": ("pattern", "CONTEXT.md")
    }


def test_a_removed_entry_can_be_rebuilt_from_the_receipt(tmp_path: Path) -> None:
    built = tree_of(tmp_path, {"AGENTS.md": "be brief\n", "a.txt": "x"}, {"CLAUDE.md": "AGENTS.md"})
    entries = {entry.path: entry for entry in built.entries}
    _, receipt = redact(built, Declarations())
    for one in receipt.removed:
        entry = entries[one.path]
        assert (one.mode, one.size_bytes, one.sha256) == entry[1:4]
    assert receipt.removed[1].target == "AGENTS.md"
    assert receipt.patterns_sha256 == patterns_sha256()
    assert receipt.before == built.receipt.tree_sha256


def test_the_disk_and_the_receipt_say_the_same(tmp_path: Path) -> None:
    built = tree_of(tmp_path, {".claude/a/b/c.md": "x", "docs/AGENTS.md": "x", "a.txt": "x"})
    clean, receipt = redact(built, Declarations())
    assert clean.sha256 == receipt.after == tree_sha256(scan_tree(clean.root))
    assert (clean.receipt.entries, clean.receipt.size_bytes) == (1, 1)
    assert clean.receipt.commit == built.receipt.commit


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "links", "gone"),
    [
        # A row names the link itself: its target stays.
        ({"docs/guide.md": ""}, {"CLAUDE.md": "docs/guide.md"}, {"CLAUDE.md"}),
        # Its target was redacted.
        ({"AGENTS.md": ""}, {"docs/x.md": "../AGENTS.md"}, {"AGENTS.md", "docs/x.md"}),
        # A chain of links.
        ({"AGENTS.md": ""}, {"a": "b", "b": "c", "c": "AGENTS.md"}, {"AGENTS.md", "a", "b", "c"}),
        # A folder of which nothing is left.
        ({".agents/x/y.md": "", "z": ""}, {"s": ".agents/x"}, {".agents/x/y.md", "s"}),
        # A folder of which something is left.
        ({"docs/AGENTS.md": "", "docs/z": ""}, {"s": "docs"}, {"docs/AGENTS.md"}),
        # A folder that was emptied because a link in it went.
        ({"AGENTS.md": ""}, {"d/l": "../AGENTS.md", "s": "d"}, {"AGENTS.md", "d/l", "s"}),
        # Through a link that went, though the file behind it stays.
        ({"docs/x.md": ""}, {".claude": "docs", "s": ".claude/x.md"}, {".claude", "s"}),
        # To a link that went, though it dangled already.
        ({"z": ""}, {"CLAUDE.md": "gone.md", "s": "CLAUDE.md"}, {"CLAUDE.md", "s"}),
        # Ordinary links, dangling ones and loops stay.
        ({"docs/c.md": "", "AGENTS.md": ""},
         {"C.md": "docs/c.md", "d": "nowhere", "l": "m", "m": "l", "o": "../out", "r": "."},
         {"AGENTS.md"}),
        # A link in a folder's place.
        ({"conf/a.md": ""}, {".cursor": "conf", ".github/instructions": "../conf"},
         {".cursor", ".github/instructions"}),
    ],
)  # fmt: skip
def test_a_link_goes_with_what_it_leads_to(
    files: dict[str, str], links: dict[str, str], gone: set[str], tmp_path: Path
) -> None:
    receipt = _receipt(tmp_path, files, links)
    assert {one.path for one in receipt.removed} == gone


def test_a_link_that_went_names_the_row_that_took_its_target(tmp_path: Path) -> None:
    receipt = _receipt(tmp_path, {".agents/x/y.md": "", "z": ""}, {"a": "b", "b": ".agents/x"})
    assert _removed(receipt) == {
        ".agents/x/y.md": ("pattern", ".agents/"),
        "a": ("link-to-redacted", ".agents/"),
        "b": ("link-to-redacted", ".agents/"),
    }
    assert [one.target for one in receipt.removed] == [None, "b", ".agents/x"]


# --- declared ------------------------------------------------------------------------------------


def test_the_plan_can_name_more_by_path_or_folder(tmp_path: Path) -> None:
    files = {"docs/agents.md": "x", "prompts/a/b.md": "x", "keep.txt": "x"}
    declared = Declarations(redact_also=("docs/agents.md", "prompts"))
    receipt = _receipt(tmp_path, files, {"link": "prompts/a"}, declared)
    assert _removed(receipt) == {
        "docs/agents.md": ("declared", "docs/agents.md"),
        "link": ("link-to-redacted", "prompts"),
        "prompts/a/b.md": ("declared", "prompts"),
    }


def test_a_declared_path_that_is_not_there_is_an_error_and_nothing_is_removed(
    tmp_path: Path,
) -> None:
    built = tree_of(tmp_path, {"AGENTS.md": "x", "a": "x"})
    with pytest.raises(InputError) as refused:
        redact(built, Declarations(redact_also=("gone", "also/gone", "a")))
    assert [one.found for one in (refused.value, *refused.value.also)] == ["'gone'", "'also/gone'"]
    assert (built.root / "AGENTS.md").exists()


def test_redacting_twice_is_redacting_once_with_declared_paths_too(tmp_path: Path) -> None:
    built = tree_of(tmp_path, {"AGENTS.md": "x", "a": "x", "b": "x"})
    declared = Declarations(redact_also=("a",))
    once, _ = redact(built, declared)
    twice, second = redact(once, declared)
    assert (twice.entries, second.removed) == (once.entries, ())


# --- parents of a scratch place ------------------------------------------------------------------


def test_what_a_harness_would_load_from_a_parent_folder_is_named(tmp_path: Path) -> None:
    for path in ("AGENTS.md", "claude.md", ".claude/x", ".github/instructions/a", ".github/x",
                 ".vscode/mcp.json", "docs/CLAUDE.md", ".roorules-code", "skills/x",
                 ".cursorrules/x", ".github/agents"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / ".codex").symlink_to("docs")
    assert auto_loaded_paths(tmp_path) == (
        ".claude/", ".codex/", ".cursorrules/", ".github/instructions/", ".roorules-code",
        ".vscode/mcp.json", "AGENTS.md", "claude.md",
    )  # fmt: skip


def test_an_empty_parent_has_nothing(tmp_path: Path) -> None:
    assert auto_loaded_paths(tmp_path) == ()


# --- any tree ------------------------------------------------------------------------------------

_COMPONENTS = st.sampled_from(
    ["a", "b", "docs", "AGENTS.md", "agents.md", ".claude", ".github", "instructions", "CONTEXT.md"]
)
_PATHS = st.lists(_COMPONENTS, min_size=1, max_size=3).map("/".join)
_TARGETS = st.lists(_COMPONENTS | st.just(".."), min_size=1, max_size=3).map("/".join)


@st.composite
def _trees(draw: st.DrawFn) -> tuple[set[str], dict[str, str]]:
    """Files and links of which none stands in the way of another."""
    chosen: list[str] = []
    for path in draw(st.lists(_PATHS, min_size=1, max_size=8, unique=True)):
        if not any(one.startswith(path + "/") or path.startswith(one + "/") for one in chosen):
            chosen.append(path)
    links = {path: draw(_TARGETS) for path in chosen if draw(st.booleans())}
    return set(chosen) - links.keys(), links


def _write(root: Path, files: set[str], links: dict[str, str]) -> BuiltTree:
    for path in (*files, *links):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
    for path in files:
        (root / path).write_text(path)
    for path, target in links.items():
        (root / path).symlink_to(target)
    entries = tuple(sorted(scan_tree(root)))
    receipt = PreparedTree(
        commit="0" * 40, git_tree="0" * 40, tree_sha256=tree_sha256(entries), entries=len(entries),
        size_bytes=0, submodules=(), lfs_pointers=(), dangling_links=(),
    )  # fmt: skip
    return BuiltTree(receipt, entries, root)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(tree=_trees())
def test_in_any_tree_nothing_named_stays_and_no_link_is_broken(
    tree: tuple[set[str], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    built = _write(tmp_path_factory.mktemp("tree"), *tree)
    before = {path: follow(path, look_on_disk(str(built.root))).arrives for path in tree[1]}
    clean, receipt = redact(built, Declarations())
    on_disk = sorted(entry for entry in scan_tree(clean.root) if entry.mode != "folder")
    assert on_disk == sorted(clean.entries)
    assert len(receipt.removed) + len(clean.entries) == len(built.entries)
    for entry in clean.entries:
        assert removed_by(entry.path, is_link=entry.mode == LINK) is None
        if entry.mode == LINK and before[entry.path]:
            assert follow(entry.path, look_on_disk(str(clean.root))).arrives
    again, second = redact(clean, Declarations())
    assert (again.entries, second.removed) == (clean.entries, ())
