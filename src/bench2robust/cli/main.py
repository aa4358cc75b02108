"""The command ``b2r``: every command, and the one place where errors become lines and exit codes.

Nothing heavy is imported before a command needs it, so ``b2r --help`` is quick.

Exit codes: 0 all went well · 1 the thing under test broke · 2 the caller's mistake, or an endpoint that
cannot be used · 3 a run ended with episodes missing (a budget, lost episodes) · 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from bench2robust.core.errors import B2RError, EndpointFatalError, UnknownNameError, UsageError

from . import compare, mcp_proxy, memory, power, profile, recommend, report, reproduce, sweep, table

app = typer.Typer(
    name="b2r",
    help="Make tools fail in controlled ways, and see which agents survive it.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    invoke_without_command=True,
)
tasks = typer.Typer(
    help="The tasks of a benchmark, and their scenarios.", rich_markup_mode=None, invoke_without_command=True
)
app.add_typer(tasks, name="tasks")
app.add_typer(memory.app, name="memory")
app.add_typer(profile.app, name="profile")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead.")]
Folder = Annotated[Path, typer.Argument(help="The run folder.", metavar="DIR")]
BenchmarkName = Annotated[str, typer.Option("--benchmark", help="The benchmark's name, such as tau2-retail.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        from bench2robust import __version__

        typer.echo(f"b2r {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    _help_if_alone(context)


@tasks.callback()
def _start_tasks(context: typer.Context) -> None:
    _help_if_alone(context)


def _help_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def setup(
    what: Annotated[str, typer.Argument(help="tau2, bfcl, or all.", metavar="[tau2|bfcl|all]")] = "all",
) -> None:
    """Put the pinned benchmark wheels into this environment."""
    from .installing import install

    install(what)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed, what is missing, and how to get it."""
    from .installing import examine, print_findings

    print_findings(examine(), as_json=as_json)


@app.command()
def run(  # noqa: PLR0913 (an option of the command is a parameter here)
    benchmark: Annotated[str | None, typer.Option(help="The benchmark, such as tau2-retail.")] = None,
    agents: Annotated[
        str | None, typer.Option(help="Agents, separated by commas. [the reference policies]")
    ] = None,
    modes: Annotated[str | None, typer.Option(help="clean, clean_alt, inject, inject_alt. [all]")] = None,
    seeds: Annotated[str | None, typer.Option(help="A count, or seeds such as 3,7 or 10-14. [5]")] = None,
    tasks: Annotated[str | None, typer.Option(help="all, or ids and ranges such as 0-9,13. [all]")] = None,
    profile: Annotated[
        str | None, typer.Option(help="severe, moderate, mild, none, or a .toml or .json file. [severe]")
    ] = None,
    clean_probability: Annotated[
        float | None, typer.Option(help="Rescale the profile to this P(clean).")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="Most noise injections in an episode. [5]")] = None,
    max_consecutive: Annotated[int | None, typer.Option(help="Most in a row on one tool. [2]")] = None,
    effects: Annotated[str | None, typer.Option(help="observation or request. [observation]")] = None,
    mix: Annotated[str | None, typer.Option(help="Shares of S1/S2/S3 in inject_alt. [40/60/0]")] = None,
    block: Annotated[
        str | None, typer.Option(help="Which side S2 blocks: random or primary. [random]")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Assistant actions before an episode ends. [100]")
    ] = None,
    memory: Annotated[Path | None, typer.Option(help="A memory that agents are told of.")] = None,
    memory_variant: Annotated[
        str | None, typer.Option(help="full, static, dynamic, shuffled or none. [full]")
    ] = None,
    delivery: Annotated[
        str | None, typer.Option(help="block, note (with a failed response) or both. [block]")
    ] = None,
    update: Annotated[str | None, typer.Option(help="fixed, or online: learn between waves. [fixed]")] = None,
    wave: Annotated[int | None, typer.Option(help="Episodes of a wave, online. [16]")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of these settings; options win.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder. [runs/BENCHMARK-FINGERPRINT]")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes. [one a processor]")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Where agents chat:MODEL are served, /v1 included. [OpenAI]")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="The variable that holds the API key. [OPENAI_API_KEY]")
    ] = None,
    user: Annotated[str | None, typer.Option(help="scripted, ticket or chat:MODEL. [scripted]")] = None,
    user_base_url: Annotated[str | None, typer.Option(help="Where the user's model is. [--base-url]")] = None,
    user_api_key_env: Annotated[str | None, typer.Option(help="Its key's variable. [--api-key-env]")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Model episodes in flight. [16]")] = None,
    temperature: Annotated[float | None, typer.Option(help="Of models. [0]")] = None,
    model_seed: Annotated[int | None, typer.Option(help="Sent with requests, drawn from this. [0]")] = None,
    reply_tokens: Annotated[int | None, typer.Option(help="Most tokens of a reply. [the server's]")] = None,
    text_tools: Annotated[
        str | None, typer.Option(help="Tools and calls as text: auto, on or off. [auto]")
    ] = None,
    keep_reasoning: Annotated[
        bool | None, typer.Option("--keep-reasoning", help="Show a model its own earlier reasoning.")
    ] = None,
    stream: Annotated[bool | None, typer.Option("--stream", help="Ask for replies in pieces.")] = None,
    prices: Annotated[
        str | None, typer.Option(help="Dollars for a million prompt/completion tokens: 0.15/0.60")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds of one attempt. [600]")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts of one request. [8]")] = None,
    extra_body: Annotated[str | None, typer.Option(help="JSON to add to each request.")] = None,
    executor: Annotated[str | None, typer.Option(help="local, ray or ray://HOST:PORT. [local]")] = None,
    record: Annotated[Path | None, typer.Option(help="Keep what models answer on this tape.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Take every answer from this tape.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Stop before this many dollars.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Stop before this many tokens in all.")] = None,
    max_hours: Annotated[float | None, typer.Option(help="Begin nothing after this many hours.")] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print count and estimate, write nothing; samples a few with models."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Play episodes into a run folder; repeated, finish it."""
    options = {
        name.replace("_", "-"): value
        for name, value in locals().items()
        if value is not None and name not in ("config", "dry_run", "as_json")
    }
    from . import running

    order = running.read_order(config, options)
    if dry_run:
        running.print_forecast(order, as_json=as_json)
    else:
        running.execute(order, as_json=as_json)


@app.command()
def show(
    folder: Folder,
    episode: Annotated[str, typer.Argument(help="TASK:AGENT:MODE:SEED, or a line number from 1.")],
    as_json: Json = False,
) -> None:
    """Print an episode: what was injected, and the truth."""
    from bench2robust.evaluation import load_run

    from .transcript import print_episode

    print_episode(load_run(folder).episode(episode), as_json=as_json)


@app.command("serve-policy")
def serve_policy(  # noqa: PLR0913 (an option of the command is a parameter here)
    benchmark: BenchmarkName,
    policy: Annotated[str, typer.Option(help="Reference policies, separated by commas.")] = "strategic",
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = 8000,
    api_key: Annotated[str | None, typer.Option(help="What requests have to carry. [anything]")] = None,
    tools: Annotated[
        str, typer.Option(help="native, tags (calls as text), no-parser or none (tools are refused).")
    ] = "native",
    context: Annotated[int | None, typer.Option(help="Most tokens of a prompt. [any number]")] = None,
    faults: Annotated[
        str, typer.Option(help="Shares of requests that fail: 429=0.1,500=0.1,cut=0.05,hang=0.05,slow=0.1")
    ] = "",
    retry_after: Annotated[float, typer.Option(help="Seconds that a 429 asks to wait.")] = 1.0,
    hang: Annotated[float, typer.Option(help="Seconds without an answer before a hang-up.")] = 600.0,
    slow: Annotated[float, typer.Option(help="Seconds by which a slow answer is late.")] = 2.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same faults.")] = 0,
) -> None:
    """Serve reference policies as an OpenAI-compatible endpoint."""
    from bench2robust.serving import EndpointSpec, FaultSpec, ToolUse

    from .serving import serve

    if tools not in list(ToolUse):
        raise UnknownNameError("tools", tools, list(ToolUse))
    use = ToolUse(tools)
    disturbed = FaultSpec(FaultSpec.rates_of(faults), retry_after, hang, slow, seed)
    names = tuple(name.strip() for name in policy.split(",") if name.strip())
    serve(benchmark, EndpointSpec(names, api_key, use, context, disturbed), host, port)


@tasks.command("list")
def list_tasks(benchmark: BenchmarkName, as_json: Json = False) -> None:
    """List the tasks of a benchmark."""
    from .tasks import print_tasks

    print_tasks(benchmark, as_json=as_json)


@tasks.command()
def certify(benchmark: BenchmarkName, as_json: Json = False) -> None:
    """Say what each task is eligible for, and why not for the rest."""
    from .tasks import print_certificates

    print_certificates(benchmark, as_json=as_json)


@tasks.command()
def generate(  # noqa: PLR0913 (an option of the command is a parameter here)
    domain: Annotated[str, typer.Option(help="The domain: retail or airline.")],
    out: Annotated[Path, typer.Option(help="The task file to write.")],
    general: Annotated[int | None, typer.Option(help="Users who say everything at once.")] = None,
    ambiguous: Annotated[
        int | None, typer.Option(help="Rewrites of general tasks: details when asked.")
    ] = None,
    changing: Annotated[int | None, typer.Option(help="Users who switch when asked to confirm.")] = None,
    infeasible: Annotated[int, typer.Option(help="Users who want what the policy forbids.")] = 0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 0,
    db: Annotated[Path | None, typer.Option(help="A database in JSON. [τ²'s own]")] = None,
    as_json: Json = False,
) -> None:
    """Generate 3I-shaped tasks; without counts as many as the domain's benchmark has."""
    from .generating import write_tasks

    asked = {"general": general, "ambiguous": ambiguous, "changing": changing, "infeasible": infeasible}
    counts = {intent: count for intent, count in asked.items() if count is not None}
    write_tasks(domain, counts, seed, database=db, out=out, as_json=as_json)


@tasks.command("split")
def print_split(benchmark: BenchmarkName, as_json: Json = False) -> None:
    """List which tasks may be learned from, and which are held out."""
    from .tasks import print_split as show

    show(benchmark, as_json=as_json)


@tasks.command()
def stats(
    benchmark: Annotated[
        list[str] | None, typer.Option(help="A benchmark's name; may be repeated. [all]", metavar="NAME")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print benchmarks in numbers: tasks, tools, gold calls, scenarios."""
    from .surveying import print_inventories

    print_inventories(benchmark or (), as_json=as_json)


@tasks.command()
def check(
    benchmark: BenchmarkName,
    tasks: Annotated[str | None, typer.Option(help="all, or ids and ranges such as 0-9,13. [all]")] = None,
    as_json: Json = False,
) -> None:
    """Check that a benchmark keeps what the port promises; exit code 1 when it does not."""
    from .surveying import print_report

    if not print_report(benchmark, tasks.split(",") if tasks else None, as_json=as_json):
        raise typer.Exit(1)


# After the commands above, so that help lists those a reader needs first.
app.command()(compare.compare)
app.command()(power.power)
app.command("table")(table.table)
app.command("report")(report.report)
app.command("sweep", context_settings=sweep.ANY_OPTION)(sweep.sweep)
app.command("reproduce", context_settings=sweep.ANY_OPTION)(reproduce.reproduce)
app.command("recommend")(recommend.recommend)
app.command("mcp-proxy", context_settings=mcp_proxy.TAKES_A_COMMAND)(mcp_proxy.mcp_proxy)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit: the entry point ``b2r``."""
    sys.exit(exit_code(sys.argv[1:] if arguments is None else arguments))


def exit_code(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    try:
        code: Any = typer.main.get_command(app).main(list(arguments), prog_name="b2r", standalone_mode=False)
    except (UsageError, EndpointFatalError) as error:
        return _failed(str(error), 2)
    except B2RError as error:
        return _failed(str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        return _failed("interrupted", 130)
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        return _failed(f"{error.strerror}: {error.filename or 'output'}", 1)
    except Exception as error:
        # Typer's own complaints; which class they have depends on its version.
        describe = getattr(error, "format_message", None)
        if describe is None:
            raise
        message, context = describe().rstrip("."), getattr(error, "ctx", None)
        suggests = "Did you mean" in message or "Possible options" in message
        hint = f"; see `{context.command_path} --help`" if context and not suggests else ""
        return _failed(message + hint, 2)
    return code if isinstance(code, int) else 0


def _failed(message: str, code: int) -> int:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    return code


if __name__ == "__main__":
    main()
