"""Runs with models, on a policy that is served over HTTP: the outcomes are those of the policy in process."""

from __future__ import annotations

import json
import signal
import threading
import time
from dataclasses import replace

import pytest

from bench2robust.agents.chat.retry import Retry
from bench2robust.agents.chat.spec import ChatSpec, Prices, TextTools
from bench2robust.core.episode import Mode
from bench2robust.core.errors import EndpointFatalError, SpecError, UnknownNameError
from bench2robust.evaluation import Budget, Means, Models, RunSpec, Schedule, load_run, run, sample
from bench2robust.evaluation.journal import LOST, PART
from bench2robust.evaluation.store import EPISODES, FACTS, MANIFEST, SUMMARY, read_episodes

pytest.importorskip("openai")

AGENT = "chat:strategic"
QUICK = Retry(attempts=12, first=0.01, most=0.1)
FAULTS = ("--faults", "429=0.1,500=0.1,cut=0.07,hang=0.03", "--retry-after", "0.02", "--hang", "30")


def spec_of(url, seeds=(0, 1), agents=(AGENT,), user="scripted", **chat):
    served = ChatSpec("strategic", base_url=url, **{"retry": QUICK, **chat})
    played = replace(served, model="user") if user == "chat:user" else None
    return RunSpec("toy-library", agents=agents, seeds=seeds, models=Models({AGENT: served}, user, played))


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def played(folder):
    """Return everything about a run's episodes but who played them and what it took."""
    found = []
    for line in (folder / EPISODES).read_bytes().splitlines():
        episode = json.loads(line)
        found.append({key: episode[key] for key in episode.keys() - {"id", "agent", "usage"}})
    return found


@pytest.fixture(scope="module")
def in_process(tmp_path_factory):
    def play(seeds=(0, 1)):
        folder = tmp_path_factory.mktemp("in_process") / "run"
        run(RunSpec("toy-library", agents=("strategic",), seeds=seeds), folder, workers=1)
        return played(folder)

    return play


@pytest.mark.parametrize("chat", [{}, {"stream": True}, {"text_tools": TextTools.ON}])
def test_the_same_bytes_at_any_concurrency_and_the_episodes_of_the_policy(
    serve_policy, tmp_path, in_process, chat
):
    spec = spec_of(serve_policy(), **chat)
    for concurrency in (1, 16, 64):
        run(spec, tmp_path / str(concurrency), means=Means(concurrency=concurrency))
    assert content(tmp_path / "1") == content(tmp_path / "16") == content(tmp_path / "64")
    assert sorted(content(tmp_path / "1")) == sorted([MANIFEST, FACTS, EPISODES, SUMMARY])
    assert played(tmp_path / "16") == in_process()
    usage = next(read_episodes(tmp_path / "1")).result.usage
    assert usage.requests > 1
    assert usage.prompt_tokens > usage.completion_tokens > 0


@pytest.mark.parametrize("tools", ["tags", "no-parser"])
def test_servers_that_do_not_parse_calls(serve_policy, tmp_path, in_process, tools):
    run(spec_of(serve_policy("toy-library", "--tools", tools)), tmp_path)
    assert played(tmp_path) == in_process()


@pytest.mark.parametrize("user", ["ticket", "chat:user"])
def test_other_users(serve_policy, tmp_path, user):
    """The library's users say everything at once, so the same tasks pass whoever they are."""
    url = serve_policy()
    run(spec_of(url, user=user), tmp_path / "run")
    run(RunSpec("toy-library", agents=("strategic",), seeds=(0, 1)), tmp_path / "policy", workers=1)
    rates = [[row.pass_rate.mean for row in load_run(tmp_path / name).rows] for name in ("run", "policy")]
    assert rates[0] == rates[1]


def test_agents_of_both_kinds_in_one_run(serve_policy, tmp_path):
    spec = spec_of(serve_policy(), agents=("naive", AGENT, "strategic"))
    mixed = run(spec, tmp_path / "mixed", workers=2)
    assert [row.agent for row in mixed.rows] == ["naive"] * 4 + [AGENT] * 4 + ["strategic"] * 4
    assert [r.result.id for r in mixed.episodes()] == list(Schedule(spec).ids())
    episodes = played(tmp_path / "mixed")
    third = len(episodes) // 3
    assert episodes[third : 2 * third] == episodes[2 * third :]
    assert mixed.rows[0].requests == 0 < mixed.rows[4].requests


def disturbed_run(serve_policy, folder, seeds, in_process):
    spec = spec_of(serve_policy("toy-library", *FAULTS), seeds, timeout=1.0)
    seen = []
    finished = run(spec, folder, means=Means(concurrency=32), watch=seen.append)
    assert finished.lost == {}
    assert finished.complete
    assert seen[-1].retries > 0.2 * seen[-1].usage.requests
    ids = [json.loads(line)["id"] for line in (folder / EPISODES).read_bytes().splitlines()]
    assert ids == list(Schedule(spec).ids()), "every episode once"
    assert played(folder) == in_process(seeds)


def test_with_thirty_percent_of_requests_failing_every_episode_is_scored(serve_policy, tmp_path, in_process):
    disturbed_run(serve_policy, tmp_path, (0, 1), in_process)


@pytest.mark.slow
def test_the_same_with_five_hundred_episodes(serve_policy, tmp_path, in_process):
    disturbed_run(serve_policy, tmp_path, tuple(range(18)), in_process)


def test_what_is_lost_is_neither_scored_nor_dropped_but_played_again(serve_policy, tmp_path, in_process):
    url = serve_policy("toy-library", "--faults", "500=0.3")
    first = run(spec_of(url, retry=Retry(attempts=2, first=0.0)), tmp_path)
    lost, scored = first.lost, sum(row.episodes for row in first.rows)
    assert 0 < len(lost) < 56
    assert len(lost) + scored == 56
    assert all("did not answer after 2 attempts (500" in problem for problem in lost.values())
    assert (tmp_path / PART).exists()
    assert not (tmp_path / SUMMARY).exists()
    kept = {episode.result.id: episode for episode in first.episodes()}
    assert not kept.keys() & lost.keys()
    again = run(spec_of(url), tmp_path)
    assert again.complete
    assert again.lost == {}
    assert {e.result.id: e for e in again.episodes() if e.result.id in kept} == kept
    assert not (tmp_path / LOST).exists()
    assert played(tmp_path) == in_process()


def test_a_budget_stops_cleanly_and_can_be_raised(serve_policy, tmp_path, in_process):
    spec = spec_of(serve_policy(), prices=Prices(1.0, 2.0))
    whole = run(spec, tmp_path / "whole")
    cost = sum(e.result.usage.cost for e in whole.episodes())
    assert cost > 0
    for share in (0.3, 0.6):
        seen = []
        stopped = run(
            spec,
            tmp_path / "run",
            means=Means(concurrency=2, budget=Budget(cost=share * cost)),
            watch=seen.append,
        )
        assert stopped.stopped.startswith("max-cost=")
        assert not stopped.complete
        assert 0.2 < sum(e.result.usage.cost for e in stopped.episodes()) / cost / share <= 1.1
        assert seen[-1].stopping == stopped.stopped
    assert run(spec, tmp_path / "run").stopped == ""
    assert content(tmp_path / "run") == content(tmp_path / "whole")
    tokens = run(spec, tmp_path / "tokens", means=Means(concurrency=1, budget=Budget(tokens=9000)))
    assert tokens.stopped.startswith("max-tokens=9000 ")
    hours = run(spec, tmp_path / "hours", means=Means(concurrency=1, budget=Budget(hours=1e-9)))
    assert hours.stopped == "max-hours=1e-09 are over"


def test_a_sample_foretells_what_a_run_takes(serve_policy, tmp_path):
    spec = spec_of(serve_policy(), prices=Prices(1.0, 2.0))
    guess = sample(Schedule(spec), 8)
    real = run(spec, tmp_path)
    tokens = sum(row.tokens * row.episodes for row in real.rows)
    assert (guess.episodes, guess.played) == (56, 4)
    assert 0.3 < guess.tokens / tokens < 3
    assert guess.cost > 0
    assert sample(Schedule(RunSpec("toy-library")), 8).episodes == 0


def press_ctrl_c_when(count, presses):
    """Press Ctrl-C, in this process, when so many episodes are done."""

    def watch(status):
        if status.done >= count and presses:
            presses.pop()
            signal.raise_signal(signal.SIGINT)

    return watch


def test_ctrl_c_once_finishes_what_is_in_flight(serve_policy, tmp_path):
    spec = spec_of(serve_policy())
    seen = []
    press = press_ctrl_c_when(10, [1])

    def watch(status):
        seen.append(status)
        press(status)

    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path, means=Means(concurrency=8), watch=watch)
    stopping = next(status for status in seen if status.stopping)
    assert stopping.stopping == "interrupted"
    done = sum(row.episodes for row in load_run(tmp_path).rows)
    assert done == seen[-1].done == stopping.done + stopping.in_flight < 56
    assert run(spec, tmp_path).complete


def test_ctrl_c_twice_stops_at_once_and_keeps_what_has_ended(serve_policy, tmp_path):
    spec = spec_of(serve_policy("toy-library", "--faults", "hang=0.2", "--hang", "30"), timeout=30.0)

    def press():
        while not (tmp_path / PART).exists():
            time.sleep(0.01)
        for _ in range(2):
            time.sleep(0.3)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(spec, tmp_path, means=Means(concurrency=8))
    assert time.monotonic() - start < 10
    assert sum(row.episodes for row in load_run(tmp_path).rows) > 0


@pytest.mark.parametrize(
    ("options", "chat", "says"),
    [
        (("--api-key", "right"), {"key_env": "B2R_NO_SUCH_KEY"}, "put one into \\$B2R_NO_SUCH_KEY"),
        ((), {"model": "gpt"}, "unknown model='gpt' .*it serves strategic"),
        (("--tools", "none"), {}, "does not take tools"),
        ((), {"base_url": "http://127.0.0.1:9/v1"}, "base-url='http://127.0.0.1:9/v1', got no answer"),
    ],
)
def test_what_no_episode_can_work_with_stops_the_run(serve_policy, tmp_path, options, chat, says):
    spec = spec_of(
        serve_policy("toy-library", *options),
        **{key: value for key, value in chat.items() if key == "key_env"},
    )
    served = replace(spec.models.of(AGENT), **chat)
    agent = f"chat:{served.model}"
    with pytest.raises(EndpointFatalError, match=says) as caught:
        run(replace(spec, agents=(agent,), models=Models({agent: served})), tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / SUMMARY).exists()


def test_the_user_s_model_is_missing(serve_policy, tmp_path):
    url = serve_policy()
    spec = spec_of(url, user="chat:user")
    nobody = replace(spec.models.of_user(), model="nobody")
    with pytest.raises(EndpointFatalError, match="unknown model='nobody'"):
        run(replace(spec, models=replace(spec.models, user="chat:nobody", user_chat=nobody)), tmp_path)
    with pytest.raises(SpecError, match="expected the name of a model"):
        Models(user="chat:")
    with pytest.raises(UnknownNameError, match="user='scrpted'; did you mean 'scripted'"):
        Models(user="scrpted")


def test_what_decides_results_is_in_the_fingerprint_and_nothing_else():
    def fingerprint(**chat):
        return Schedule(spec_of("http://localhost:1/v1", **chat)).fingerprint

    usual = fingerprint()
    assert Schedule(spec_of("http://elsewhere:2/v1", timeout=1.0, key_env="X")).fingerprint == usual
    assert len({usual, fingerprint(temperature=0.5), fingerprint(seed=3), fingerprint(user="ticket")}) == 4
    models = Models({AGENT: ChatSpec("strategic")})
    without = RunSpec("toy-library", agents=("naive",), modes=(Mode.CLEAN,))
    assert Schedule(replace(without, models=models)).fingerprint == Schedule(without).fingerprint


def test_numbers_that_cannot_be(tmp_path):
    for name in ("workers", "concurrency"):
        with pytest.raises(SpecError, match=f"expected at least 1, got {name}=0"):
            Means(**{name: 0})
    with pytest.raises(UnknownNameError, match="executor='slurm'"):
        Means(executor="slurm")
