"""The command line: parse, call, print. Every verb is a library function.

Results go to stdout, progress to stderr. Exit status: 0 done, 1 a gate said no,
2 bad input, 3 something outside failed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from benchlib import __version__
from benchlib.errors import BenchlibError

_COHORT = click.argument("cohort", type=click.Path(path_type=Path))
_SANDBOX = click.option(
    "--sandbox",
    type=click.Choice(["docker", "local"]),
    default="local",
    show_default=True,
    help="Where arms run; local isolates as well as this machine lets it, and says how well.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print for machines, not words.")
_FORCE = click.option("--force-output", is_flag=True, help="Replace an output of other content.")
_JOBS = click.option("--jobs", type=click.IntRange(1, 256), help="Pairs that run at once.")


def entry() -> None:
    """Run the command line; a ``BenchlibError`` becomes words on stderr and its exit status."""
    as_json = "--json" in sys.argv[1:]
    try:
        main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("stopped; what was finished is kept, and --resume continues", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except BenchlibError as error:
        text = json.dumps(error.parts(), ensure_ascii=True) if as_json else str(error)
        click.echo(text, err=True)
        sys.exit(error.exit_status)


def say(line: str) -> None:
    """Print a line of progress."""
    click.echo(line, err=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Paired agent-memory benchmarks whose answer a stranger can check."""


@main.command()
@click.option("--output", type=click.Path(path_type=Path), help="Where receipts and tables go.")
@_JOBS
def demo(output: Path | None, jobs: int | None) -> None:
    """Run the demo cohort from its commit to its tables, in the local sandbox."""
    from benchlib.records import run_demo

    click.echo(run_demo(output=output, jobs=jobs, progress=say).in_words())


@main.command()
@_COHORT
@_SANDBOX
@_JSON
def prepare(cohort: Path, sandbox: str, as_json: bool) -> None:
    """Build, redact and certify each workspace of a cohort, and say what was found."""
    from benchlib.records import prepare_cohort

    report = prepare_cohort(cohort, sandbox=sandbox, progress=say)
    click.echo(report.as_json() if as_json else report.in_words())


@main.command()
@_COHORT
@_SANDBOX
@_JSON
def certify(cohort: Path, sandbox: str, as_json: bool) -> None:
    """Judge every surface that an agent of this cohort could see; status 1 with findings."""
    from benchlib.records import prepare_cohort

    report = prepare_cohort(cohort, sandbox=sandbox, progress=say)
    click.echo(report.as_json() if as_json else report.findings_in_words())
    sys.exit(0 if report.passed else 1)


@main.command()
@_COHORT
@_SANDBOX
@_FORCE
def freeze(cohort: Path, sandbox: str, force_output: bool) -> None:
    """Prove the verifiers and pin everything that a run rests on, in one lock file."""
    from benchlib.records import freeze_cohort

    lock = freeze_cohort(cohort, sandbox=sandbox, overwrite=force_output, progress=say)
    click.echo(f"{cohort / 'plan.lock.json'}: {lock.canonical_sha256()}")


@main.command()
@_COHORT
@_SANDBOX
@click.option("--resume", is_flag=True, help="Continue a run that was begun.")
@click.option("--output", type=click.Path(path_type=Path), help="The folder of the receipts.")
@_JOBS
def run(cohort: Path, sandbox: str, resume: bool, output: Path | None, jobs: int | None) -> None:
    """Run the pairs of a frozen cohort that have no valid attempt yet."""
    from benchlib.records import run_frozen

    summary = run_frozen(
        cohort, sandbox=sandbox, resume=resume, receipts=output, jobs=jobs, progress=say
    )
    click.echo(summary.in_words())


@main.command()
@_COHORT
@click.option("--receipts", type=click.Path(path_type=Path), help="The folder of the receipts.")
@click.option("--output", type=click.Path(path_type=Path), help="Where tables and report go.")
@_FORCE
def analyze(cohort: Path, receipts: Path | None, output: Path | None, force_output: bool) -> None:
    """Run the frozen notebook of a cohort on its receipts: tables and report."""
    from benchlib.records import analyze_frozen

    result = analyze_frozen(
        cohort, receipts=receipts, output=output, overwrite=force_output, progress=say
    )
    click.echo(result.in_words())


@main.command()
@click.argument("contract", required=False)
def schema(contract: str | None) -> None:
    """Print the JSON Schema of a contract, or of all."""
    from benchlib.contracts.schema import schema_text

    click.echo(schema_text(contract))


@main.group()
def provisioner() -> None:
    """Work with a memory system's executable."""


@provisioner.command(
    name="check",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def provisioner_check(argv: tuple[str, ...]) -> None:
    """Say in one sentence each what a provisioner does wrong; ARGV follows `--`."""
    from benchlib.memory import run_conformance

    report = run_conformance(argv)
    click.echo(report.in_words())
    sys.exit(0 if report.passed else 1)


@main.command(name="plan-size")
@click.option("--difference", required=True, help="The smallest effect worth finding, such as 0.2.")
@click.option("--alpha", default="0.05", show_default=True, help="The error that is accepted.")
@click.option("--power", default="0.8", show_default=True, help="The chance to find the effect.")
@click.option("--price", help="What one pair costs, in USD.")
def plan_size(difference: str, alpha: str, power: str, price: str | None) -> None:
    """Print size, power and price of a cohort for three guesses of the discordance."""
    from benchlib.stats import plan_size as table

    click.echo(table(difference=difference, alpha=alpha, power=power, price=price).in_words())


@main.command()
def bench() -> None:
    """Measure the kit against its referees, as ratios in one run."""
    from benchlib.records import bench_table

    click.echo(bench_table(progress=say))


@main.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on the notebooks; needs the extra `lab`."""
    from benchlib.records import open_lab

    sys.exit(open_lab(arguments))
