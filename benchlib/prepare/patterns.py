"""Everything that people may argue about: what is removed, what is found, and why.

Each row carries its evidence. Observed rows were measured with the real programs on
2026-12-01 (Linux, headless), a marker in each candidate file and every request recorded;
documented rows stand in a harness' manual and were not run. Counts of repositories are
from 40 ordinary public repositories (31,115 text files) and 12 that are evaluation
harnesses or benchmark suites (23,178).

Data only; the code that walks it is in `_autoload`, `_scanner` and `_identity`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchlib.contracts.fixture import FindingKind

# --- auto-loaded context -------------------------------------------------------------------------

CaseRule = Literal["exact", "folded"]


@dataclass(frozen=True)
class AutoLoaded:
    """A name that some harness reads into the prompt unasked.

    A bare name is a file or link of that name anywhere. A trailing slash is a folder, or a
    link in a folder's place, anywhere. An inner slash means those consecutive components.
    A trailing ``*`` is any ending. At the root of the tree a case variant of a bare name
    counts too.
    """

    row: str
    evidence: str
    case: CaseRule = "exact"  # folded: some harness ignores case below the root as well
    only_at_root: bool = False  # below the root it is a finding, never removed


AUTO_LOADED: tuple[AutoLoaded, ...] = (
    AutoLoaded("AGENT.md", "observed: Continue CLI 1.5.47; documented: Zed, Roo"),
    AutoLoaded(
        "AGENTS.md",
        "observed: codex 0.171.0, opencode 1.18.33, Copilot CLI 1.0.102 (case ignored), Qwen Code "
        "0.24.4, Continue CLI 1.5.47, Cline CLI 3.0.65, Claude Code 2.1.332 without a CLAUDE.md",
        case="folded",
    ),
    AutoLoaded("AGENTS.override.md", "observed: codex 0.171.0"),
    AutoLoaded("AGENTS.local.md", "documented: Roo; not loaded by the ten harnesses observed"),
    AutoLoaded(
        "CLAUDE.md",
        "observed: Claude Code 2.1.332, opencode 1.18.33, Copilot CLI 1.0.102 (case ignored), "
        "Continue CLI 1.5.47",
        case="folded",
    ),
    AutoLoaded("CLAUDE.local.md", "observed: Claude Code 2.1.332"),
    AutoLoaded(
        "GEMINI.md",
        "observed: Gemini CLI 0.61.0, Copilot CLI 1.0.102 (case ignored)",
        case="folded",
    ),
    AutoLoaded("QWEN.md", "observed: Qwen Code 0.24.4"),
    AutoLoaded("WARP.md", "documented: Warp"),
    AutoLoaded("CRUSH.md", "documented: Crush"),
    AutoLoaded("CONTEXT.md", "observed: opencode 1.18.33", only_at_root=True),
    AutoLoaded(
        "copilot-instructions.md",
        "observed in .github/: Copilot CLI 1.0.102 (case ignored)",
        case="folded",
    ),
    AutoLoaded(".clinerules", "observed: Cline CLI 3.0.65"),
    AutoLoaded(".clinerules-*", "documented: Roo, rules per mode"),
    AutoLoaded(".cursorrules", "documented: Cursor (legacy), Zed"),
    AutoLoaded(".windsurfrules", "documented: Windsurf, Zed"),
    AutoLoaded(".roorules", "documented: Roo"),
    AutoLoaded(".roorules-*", "documented: Roo, rules per mode"),
    AutoLoaded(".goosehints", "documented: Goose"),
    AutoLoaded(".augment-guidelines", "documented: Auggie"),
    AutoLoaded(".rules", "documented: Zed"),
    AutoLoaded(".mcp.json", "observed: Claude Code 2.1.332, Qwen Code 0.24.4 start its servers"),
    AutoLoaded(".aider.conf.yml", "observed: aider 0.86.2 loads what its `read:` names"),
    AutoLoaded(".crush.json", "documented: Crush"),
    AutoLoaded("opencode.json", "documented: opencode; names instruction files and MCP servers"),
    AutoLoaded("opencode.jsonc", "documented: opencode; names instruction files and MCP servers"),
    AutoLoaded("firebender.json", "documented: Firebender"),
    AutoLoaded(".claude/", "observed: Claude Code 2.1.332, Copilot CLI 1.0.102, opencode 1.18.33"),
    AutoLoaded(".codex/", "observed: codex 0.171.0 (skills; configuration when trusted)"),
    AutoLoaded(
        ".agents/",
        "observed: codex 0.171.0, opencode 1.18.33, Copilot CLI 1.0.102, Gemini CLI 0.61.0, "
        "Qwen Code 0.24.4 (skills)",
    ),
    AutoLoaded(".agent/", "documented: Antigravity"),
    AutoLoaded(".opencode/", "observed: opencode 1.18.33 (agents, skills)"),
    AutoLoaded(".gemini/", "observed in the home: Gemini CLI 0.61.0"),
    AutoLoaded(".qwen/", "observed: Qwen Code 0.24.4 (skills)"),
    AutoLoaded(".copilot/", "observed in the home: Copilot CLI 1.0.102"),
    AutoLoaded(".cursor/", "documented: Cursor"),
    AutoLoaded(".continue/", "observed: Continue CLI 1.5.47 (rules)"),
    AutoLoaded(".cline/", "documented: Cline"),
    AutoLoaded(".clinerules/", "observed in use as a folder; documented: Cline"),
    AutoLoaded(".cursorrules/", "a folder in the place of the file of that name"),
    AutoLoaded(".windsurf/", "documented: Windsurf"),
    AutoLoaded(".roo/", "documented: Roo"),
    AutoLoaded(".junie/", "documented: Junie"),
    AutoLoaded(".kiro/", "documented: Kiro"),
    AutoLoaded(".trae/", "documented: Trae"),
    AutoLoaded(".augment/", "documented: Auggie"),
    AutoLoaded(".kilocode/", "documented: Kilo"),
    AutoLoaded(".factory/", "documented: Factory"),
    AutoLoaded(".goose/", "documented: Goose"),
    AutoLoaded(".crush/", "documented: Crush"),
    AutoLoaded(".amazonq/", "documented: Amazon Q"),
    AutoLoaded(".openhands/", "documented: OpenHands"),
    AutoLoaded(".aiassistant/", "documented: JetBrains AI"),
    AutoLoaded(".devin/", "documented: Devin"),
    AutoLoaded(".vibe/", "documented: Mistral Vibe"),
    AutoLoaded(".pi/", "documented: Pi"),
    AutoLoaded(".idx/airules.md", "documented: Firebase Studio"),
    AutoLoaded(".vscode/mcp.json", "documented: VS Code"),
    AutoLoaded(".github/instructions/", "observed: Copilot CLI 1.0.102"),
    AutoLoaded(".github/skills/", "observed: Copilot CLI 1.0.102"),
    AutoLoaded(".github/prompts/", "documented: VS Code"),
    AutoLoaded(".github/chatmodes/", "documented: VS Code"),
    AutoLoaded(".github/agents/", "documented: VS Code"),
)

WHY_AUTO_LOADED = "a harness reads it into the prompt unasked, as a memory that no arm declares"
WHY_CASE_VARIANT = (
    "the cohort's harness ignores case and reads it into the prompt; "
    "declare it, or add it to declarations.redact_also"
)
WHY_CONTEXT_BELOW_ROOT = (
    "opencode reads a CONTEXT.md of any folder it works in; "
    "below the root the name is also ordinary, so a person decides"
)

# --- names that are findings ---------------------------------------------------------------------

PATCH_ENDINGS = (".patch", ".diff", ".rej", ".orig")
"""File names of changes and of what `patch(1)` leaves; not `x.orig.py`, not a folder `patches/`."""

WHY_PATCH_NAME = "the file is a change or what is left of one, and may hold the answer as a diff"

ENV_HARMLESS_ENDINGS = (".example", ".sample", ".template", ".dist", ".defaults", ".vault")
"""Of 40 repositories 1 tracks a `.env`, 11 a `.env.example`."""

WHY_ENV = "files of this name hold passwords and keys"
WHY_GIT_DATA = "a repository's own data can hold later commits, and with them the answer"
WHY_LINK_OUT = "a link that leaves the tree shows an agent files that nobody certified"
WHY_THROUGH_LINK = "through this link a harness finds files that it reads into the prompt unasked"

GIT_PARTS = ("objects", "refs", "HEAD", "packed-refs", "config", "logs", "ORIG_HEAD", "FETCH_HEAD")
"""What stands directly below a folder `x.git` if it is a repository."""

# --- text that is a finding, or worth a note -----------------------------------------------------


@dataclass(frozen=True)
class TextRule:
    """A pattern in a file's text, looked for only where one of its literals stands.

    ``expression`` is RE2, on bytes. Literals are lower case and are looked for in
    the lower-cased text.
    """

    name: str
    kind: FindingKind
    literals: tuple[str, ...]
    expression: str
    why: str
    is_note: bool = False
    only_at_start: bool = False  # the match must be the file's first non-blank text
    only_in: tuple[str, ...] = ()  # basenames; empty for all files
    evidence: str = ""


TEXT_RULES: tuple[TextRule, ...] = (
    TextRule(
        "unified diff",
        "patch-or-diff",
        ("@@ -",),
        r"(?m)^--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@",
        "a complete diff in a text may be the change that the challenge asks for",
        evidence="6 files in 4 of 40 repositories; a hunk header alone is in 29 files of 5",
    ),
    TextRule(
        "merge conflict",
        "patch-or-diff",
        ("<<<<<<< ",),
        r"(?ms)^<<<<<<< [^\n]*\n.*?^=======\r?\n.*?^>>>>>>> ",
        "both sides of a merge show a change that was made elsewhere",
        evidence="a lone marker stands in 27 files of 1 of 40 repositories, an edit format",
    ),
    TextRule(
        "conflict marker",
        "patch-or-diff",
        ("<<<<<<< ", ">>>>>>> "),
        r"(?m)^(?:<<<<<<<|>>>>>>>) ",
        "a lone conflict marker: perhaps what is left of a merge, perhaps an edit format",
        is_note=True,
    ),
    TextRule(
        "private key",
        "suspicious-metadata",
        ("-----begin ",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        "the whole file is a private key",
        only_at_start=True,
        evidence="18 whole key files in 4 of 40 repositories, all test material; "
        "11 more files only hold the header in a string",
    ),
    TextRule(
        "npm auth token",
        "suspicious-metadata",
        ("_authtoken", "_auth", "_password"),
        r"(?m)^[^#;\n]*_(?:authToken|auth|password)[ \t]*=[ \t]*[^\s$]",
        "the file holds a registry's credential",
        only_in=(".npmrc", "npmrc"),
        evidence="a value taken from the environment, ${NAME}, is no credential",
    ),
    TextRule(
        "git bundle",
        "suspicious-metadata",
        ("# v2 git bundle", "# v3 git bundle"),
        r"# v[23] git bundle\n",
        "a bundle is a repository in one file: later commits, and with them the answer",
        only_at_start=True,
    ),
    TextRule(
        "token-shaped string",
        "suspicious-metadata",
        ("ghp_", "gho_", "akia", "aiza", "glpat-", "npm_", "xoxb-", "xoxp-", "sk-ant-", "sk-proj-"),
        r"\b(?:gh[po]_[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{35}|glpat-[0-9A-Za-z_-]{20}"
        r"|npm_[A-Za-z0-9]{36}|xox[bp]-[0-9A-Za-z-]{20,}|sk-(?:ant|proj)-[0-9A-Za-z_-]{20,})",
        "a string shaped like a credential: mostly documentation and tests, worth a look",
        is_note=True,
        evidence="22 files in 7 of 40 repositories, all documentation, examples and tests",
    ),
)

# --- vocabularies --------------------------------------------------------------------------------

KIT_NAME = "benchlib"
"""Found as any part of a word: nobody else writes it."""


@dataclass(frozen=True)
class Term:
    """Words that give the kit away: whole words, any case, plural included."""

    words: str
    evidence: str


EVERYWHERE: tuple[Term, ...] = (
    Term("memory arm", "0 of 40 ordinary repositories"),
    Term("graph arm", "0 of 40"),
    Term("paired run", "0 of 40"),
    Term("mutation audit", "0 of 40"),
    Term("agent benchmark", "0 of 40; 4 of 12 harness repositories"),
    Term("agent memory benchmark", "0 of 40; 4 of 12 harness repositories"),
    Term("run identity", "a wire field of ours, run_identity: 0 of 40"),
    Term("challenge_id", "0 of 40"),
    Term("evidence_corpus", "a wire field of ours; not counted, of no ordinary use"),
    Term("queue_before_count", "a wire field of ours; not counted, of no ordinary use"),
    Term("queue_after_count", "a wire field of ours; not counted, of no ordinary use"),
)
"""Looked for on every surface, contents and names."""

IDENTITY: tuple[Term, ...] = (
    Term("fixture", "31 of 40 ordinary repositories: never in text"),
    Term("benchmark", "19 of 40: never in text"),
    Term("treatment", "14 of 40: never in text"),
    Term("swe bench", "4 of 40"),
    Term("control group", "3 of 40"),
    Term("control arm", "1 of 40"),
    Term("treatment arm", "2 of 40"),
    Term("negative control", "2 of 40"),
    Term("evaluation harness", "1 of 40"),
    Term("hidden test", "1 of 40"),
    Term("being evaluated", "3 of 40"),
    Term("being measured", "3 of 40"),
    Term("being tested", "3 of 40"),
)
"""Only in identity fields of graphs, and in names that the kit writes."""

KIT_WORDS: tuple[Term, ...] = (
    Term("control", "40 of 40: only where the kit itself chooses the name"),
    Term("arm", "19 of 40, also a processor"),
    Term("cohort", "6 of 40"),
    Term("condition", "40 of 40"),
)
"""Besides those above, only in names that the kit writes: nothing else has to know them."""

IDENTITY_FIELDS = frozenset(
    {
        "id", "ids", "uid", "uuid", "key", "kind", "type", "rel", "relation", "branch", "project",
        "namespace", "graph", "graphid", "schema", "name", "label", "labels", "tag", "tags",
        "entitytype", "relationtype",
    }
)  # fmt: skip
"""Fields of a graph whose text is a name. Titles and bodies are prose; sources are paths of the
project, where `tests/fixtures/` is ordinary; the ends of an edge repeat the ids of its nodes."""

IDENTITY_COLUMNS = {"nodes": 2, "edges": 3}
"""Where a graph writes rows instead of objects: [id, kind, …] and [source, relation, target]."""

GENERIC_ID_WORDS = frozenset(
    {
        "a", "an", "the", "no", "with", "without", "and", "of", "on", "off", "full", "empty",
        "main", "base", "default", "demo", "test", "memory", "graph", "populated", "plain", "none",
        "some", "small", "large", "first", "second", "old", "new", "control", "treatment", "arm",
        "run",
        "pair", "task", "app", "fixture", "challenge", "cohort", "agent", "config", "label",
        "name",
    }
)  # fmt: skip
"""An id that is made of these alone is a phrase of ordinary prose (`no-memory`)."""

# --- what the image may hold ---------------------------------------------------------------------

PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages", "node_modules", "registry"})
"""Folders of installed packages; other people's test keys and diffs in them are no finding."""

WHY_INSTALLED_COPY = (
    "an installed or cached copy of the project under test shows code that redaction never saw, "
    "and a later release holds the answer"
)
WHY_AWARENESS = "it tells the agent that it is being measured"
WHY_OWN_ID = "it is a {what} of this very plan; rename the {what} or declare the file"
WHY_LEAK = "it is an answer phrase of the challenge: an agent could read the answer off"
