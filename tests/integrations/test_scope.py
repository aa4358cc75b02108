"""Fault scopes around plain functions: what is delivered, what is recorded, who sees whom."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import logging
import subprocess
import sys
import threading
import time
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench2robust import Faults, faults, inject
from bench2robust.core.errors import UsageError
from bench2robust.core.noise import NOISE_TYPES, NoiseType
from bench2robust.core.tools import ToolCall
from bench2robust.injection import Limits
from bench2robust.integrations import Failure, Hang, Raised, Returned, ToolFailure, current
from bench2robust.integrations.spec import FaultSpec

ALWAYS = {"budget": None, "max_consecutive": None}
ORDER = {"order_id": "#1", "total": 12.5, "items": [{"name": "lamp", "price": 3.5}]}


@inject
def get_order(order_id: str, expand: bool = False):
    """Get an order."""
    return {**ORDER, "order_id": order_id}


@inject
async def aget_order(order_id: str, expand: bool = False):
    await asyncio.sleep(0)
    return {**ORDER, "order_id": order_id}


def only(noise, **options):
    return faults({noise: 1.0}, **{**ALWAYS, **options})


def plays(scope, calls=60):
    with scope:
        return [repr(get_order(f"#{i % 7}")) for i in range(calls)]


def test_outside_a_scope_a_tool_is_as_it_was():
    assert current() is None
    assert get_order("#1") == ORDER
    assert get_order.__name__ == "get_order"
    assert get_order.__doc__ == "Get an order."


def test_inside_a_scope_it_fails_and_every_call_has_its_record():
    with faults("severe", seed=1, **ALWAYS) as scope:
        answers = [get_order(f"#{i}") for i in range(300)]
    assert scope.calls == len(scope.records) == 300
    assert sum(scope.delivered.values()) == sum(record.injected for record in scope.records)
    assert {record.noise for record in scope.records} == set(NoiseType) - {NoiseType.STALE}
    for answer, record in zip(answers, scope.records, strict=True):
        if record.noise is NoiseType.CLEAN:
            assert answer == {**ORDER, "order_id": record.call.arguments["order_id"]}
        elif record.noise.silent:
            assert isinstance(answer, dict)
            assert answer != {**ORDER, "order_id": record.call.arguments["order_id"]}
        else:
            assert answer == record.delivered.text
    assert get_order("#1") == ORDER


def test_the_rates_are_those_of_the_profile():
    """2,000 calls; each type's count is within 5 standard deviations (false alarms below 1e-5)."""
    with faults({"timeout": 0.2, "rate_limit": 0.1}, seed=5, keep=0, **ALWAYS) as scope:
        for i in range(2000):
            get_order(str(i))
    for noise, p in (("timeout", 0.2), ("rate_limit", 0.1)):
        assert abs(scope.delivered["get_order", noise] - 2000 * p) < 5 * (2000 * p * (1 - p)) ** 0.5


def test_equal_seeds_give_equal_faults_and_others_do_not():
    assert plays(faults(seed=1)) == plays(faults(seed=1)) != plays(faults(seed=2))
    scope = faults(seed=1)
    assert plays(scope.episode("a")) == plays(scope.episode("a")) != plays(scope.episode("b"))
    assert plays(scope.episode("a", seed=2)) == plays(faults(seed=2).episode("a"))


def test_faults_do_not_depend_on_the_process():
    program = (
        "from bench2robust import faults, inject\n"
        "get = inject(lambda **a: 1, name='get')\n"
        "with faults(seed=3, budget=None):\n"
        "    print([get(a=i, b=[i], c={'x': {'y': str(i)}}) for i in range(40)])\n"
    )
    done = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(done) == 1
    assert "HTTP" in done.pop()


@settings(max_examples=30, deadline=None)
@given(st.permutations(list(range(24))), st.integers(0, 100))
def test_the_order_of_different_calls_does_not_matter(order, seed):
    def play(calls):
        with faults(seed=seed, **ALWAYS):
            return {(i, again): repr(get_order(f"#{i}")) for i in calls for again in range(2)}

    assert play(order) == play(range(24))


def test_threads_in_any_order_meet_the_same_faults():
    def play(workers):
        scope = faults(seed=4, **ALWAYS)
        tool = inject(slow, scope=scope)
        with ThreadPoolExecutor(workers) as pool:
            return dict(zip(range(60), map(repr, pool.map(tool, range(60))), strict=True)), scope

    def slow(n):
        time.sleep((n * 7 % 5) / 2000)
        return ORDER

    alone, _ = play(1)
    for _ in range(3):
        together, scope = play(8)
        assert together == alone
        assert scope.calls == len(scope.records) == 60
        assert sorted(record.index for record in scope.records) == list(range(60))


def test_the_budget_holds_whatever_the_threads_do():
    scope = faults({"timeout": 1.0}, max_consecutive=None)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(inject(lambda n: n, name="f", scope=scope), range(200)))
    assert sum(isinstance(answer, str) for answer in answers) == 5


def test_scopes_of_threads_do_not_see_each_other():
    barrier = threading.Barrier(4)

    def play(profile):
        scope = faults(profile, **ALWAYS)
        with scope:
            barrier.wait()
            answers = Counter(str(get_order("#1"))[:5] for _ in range(50))
            barrier.wait()
        return answers, scope.calls

    with ThreadPoolExecutor(4) as pool:
        for (answers, calls), profile in zip(
            pool.map(play, [{"timeout": 1}, "none"] * 2), [1, 0] * 2, strict=True
        ):
            assert calls == 50
            assert answers == ({"Error": 50} if profile else {"{'ord": 50})
    assert current() is None


def test_scopes_of_tasks_do_not_see_each_other():
    async def play(profile):
        with faults(profile, **ALWAYS) as scope:
            answers = [await aget_order("#1") for _ in range(20)]
            return {type(answer) for answer in answers}, scope.calls

    async def main():
        return await asyncio.gather(*(play(p) for p in ({"timeout": 1}, "none") * 5))

    assert asyncio.run(main()) == [({str}, 20), ({dict}, 20)] * 5


def test_one_scope_entered_by_overlapping_tasks_and_threads():
    scope = only("timeout")

    async def play(pause):
        with scope:
            await asyncio.sleep(pause)
            return await aget_order("#1")

    async def main():
        return await asyncio.gather(play(0.002), play(0.001), play(0), asyncio.to_thread(inside))

    def inside():
        with scope:
            return get_order("#1")

    assert asyncio.run(main()) == ["Error: request timed out after 30s"] * 4
    assert scope.calls == 4
    assert current() is None


def test_tasks_and_copied_contexts_inherit_the_scope_and_bare_threads_do_not():
    async def main():
        return await asyncio.gather(asyncio.create_task(aget_order("#1")), asyncio.to_thread(get_order, "#2"))

    with only("timeout"):
        assert {type(answer) for answer in asyncio.run(main())} == {str}
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(get_order, "#1").result() == ORDER
            assert isinstance(pool.submit(contextvars.copy_context().run, get_order, "#1").result(), str)


def test_scopes_nest():
    with faults("none") as outer:
        with only("timeout"):
            assert isinstance(get_order("#1"), str)
        assert get_order("#1") == ORDER
        with outer.episode("inner") as episode:
            get_order("#1")
    assert (outer.calls, episode.calls) == (1, 1)


def test_async_and_sync_decide_alike():
    async def play():
        with faults(seed=6, **ALWAYS):
            return [repr(await inject(wrapped, name="get_order")(f"#{i % 7}")) for i in range(60)]

    async def wrapped(order_id: str, expand: bool = False):
        return {**ORDER, "order_id": order_id}

    assert asyncio.run(play()) == plays(faults(seed=6, **ALWAYS))


class TestDelivery:
    def test_text_is_the_default(self):
        with only("rate_limit"):
            assert get_order("#1") == "HTTP 429 Too Many Requests"

    def test_object(self):
        with only("rate_limit", delivery="object"):
            assert get_order("#1") == {
                "error": {"type": "rate_limit", "message": "HTTP 429 Too Many Requests"}
            }

    def test_raise(self):
        with only("rate_limit", delivery="raise"), pytest.raises(ToolFailure, match="429") as caught:
            get_order("#1")
        assert caught.value.failure == Failure(
            "get_order", "HTTP 429 Too Many Requests", NoiseType.RATE_LIMIT
        )

    def test_a_class_of_the_user(self):
        with (
            only("rate_limit", delivery=ConnectionError) as scope,
            pytest.raises(ConnectionError, match="429"),
        ):
            get_order("#1")
        assert scope.records[0].executed

    def test_a_function_of_the_user(self):
        with only("timeout", delivery=lambda failure: {"ok": False, "kind": failure.kind}):
            assert get_order("#1") == {"ok": False, "kind": "timeout"}

    def test_each_kind_its_own(self):
        ways = {"timeout": TimeoutError, "blocked": "object", "default": Returned(lambda failure: None)}
        with faults("none", blocked=["get_order"], delivery=ways):
            assert get_order("#1")["error"]["type"] == "blocked"
        with only("timeout", delivery=ways), pytest.raises(TimeoutError):
            get_order("#1")
        with only("rate_limit", delivery=ways):
            assert get_order("#1") is None

    def test_the_tool_may_have_its_own_and_the_scope_comes_first(self):
        tool = inject(lambda: 1, name="f", delivery=OSError)
        with only("timeout"), pytest.raises(OSError, match="timed out"):
            tool()
        with only("timeout", delivery="text"):
            assert isinstance(tool(), str)

    def test_a_hang_of_a_synchronous_tool_ends_with_its_guard(self):
        start = time.monotonic()
        with only("timeout", delivery={"timeout": Hang(0.05)}):
            assert get_order("#1") == "Error: request timed out after 30s"
        assert 0.05 <= time.monotonic() - start < 5
        error = Hang(0.0, then=Raised(lambda failure: TimeoutError(failure.text)))
        with only("timeout", delivery=error), pytest.raises(TimeoutError):
            get_order("#1")

    def test_a_hang_of_an_asynchronous_tool_lasts_until_the_caller_loses_patience(self):
        async def play():
            with only("timeout", delivery="hang") as scope:
                start = time.monotonic()
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(aget_order("#1"), 0.03)
                return time.monotonic() - start, scope

        waited, scope = asyncio.run(play())
        assert waited < 5
        assert [(r.noise, r.executed) for r in scope.records] == [(NoiseType.TIMEOUT, True)]

    def test_only_timeouts_hang(self):
        with only("auth_error", delivery="hang"):
            assert get_order("#1").startswith("HTTP 40")


class TestCancellation:
    def test_a_cancelled_call_leaves_nothing_and_runs_once(self):
        ran = []

        @inject
        async def pay(order_id: str):
            ran.append(order_id)
            await asyncio.sleep(30)

        async def play():
            with faults("none") as scope:
                task = asyncio.create_task(pay("#1"))
                await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await aget_order("#1") == ORDER
                return scope

        scope = asyncio.run(play())
        assert ran == ["#1"]
        assert [record.call.name for record in scope.records] == ["aget_order"]

    @settings(max_examples=15, deadline=None)
    @given(st.lists(st.booleans(), min_size=1, max_size=20), st.integers(0, 20))
    def test_nothing_is_lost_and_nothing_is_doubled(self, cancelled, seed):
        entered, finished = Counter(), Counter()

        @inject
        async def tool(n: int):
            entered[n] += 1
            await asyncio.sleep(30 if cancelled[n] else 0)
            finished[n] += 1
            return n

        async def play():
            with faults(seed=seed) as scope:
                tasks = [asyncio.create_task(tool(n)) for n in range(len(cancelled))]
                await asyncio.sleep(0.005)
                for task, cancel in zip(tasks, cancelled, strict=True):
                    if cancel:
                        task.cancel()
                return scope, await asyncio.gather(*tasks, return_exceptions=True)

        scope, results = asyncio.run(play())
        assert all(count == 1 for count in entered.values())
        assert len(entered) == len(cancelled)
        assert Counter(r.call.arguments["n"] for r in scope.records) == finished
        assert [isinstance(r, asyncio.CancelledError) for r in results] == cancelled

    def test_the_lock_is_free_after_every_way_out(self):
        @inject
        def stops():
            raise KeyboardInterrupt

        with faults("none") as scope:
            with pytest.raises(KeyboardInterrupt):
                stops()
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(inject(lambda: 1, name="f", scope=scope)).result(timeout=5) == 1
        assert len(scope.records) == 1


class TestOwnErrors:
    def test_a_tools_own_error_is_raised_and_recorded(self):
        @inject
        def broken():
            raise LookupError("no such order")

        with faults("none") as scope, pytest.raises(LookupError, match="no such order"):
            broken()
        assert scope.records[0].genuine_error
        assert scope.records[0].true.text == "no such order"
        assert scope.delivered == {}

    def test_it_may_be_covered_by_a_fault_and_is_never_corrupted_silently(self):
        @inject
        def broken():
            raise LookupError("no such order")

        with only("timeout"):
            assert broken() == "Error: request timed out after 30s"
        with only("partial"), pytest.raises(LookupError):
            broken()

    def test_it_does_not_outlive_the_call(self):
        class Own(Exception):
            pass

        def play():
            kept = []

            @inject
            def broken():
                error = Own()
                kept.append(weakref.ref(error))
                raise error

            with faults("none") as scope:
                with pytest.raises(Own):
                    broken()
                return kept[0], scope

        ref, _scope = play()
        gc.collect()
        assert ref() is None


DOMAIN = {
    "classes": {"order": {"by_id": ["get_order"], "by_user": ["list_orders", "get_user"]}},
    "needs": {"refund": ["order"]},
    "exempt": ["transfer"],
}


class TestScenarios:
    def test_s2_blocks_one_side_always_with_the_same_text(self):
        sides = set()
        for seed in range(20):
            scope = faults("none", seed=seed, scenario="s2", domain=DOMAIN)
            sides.add(scope.blocked)
            if "get_order" in scope.blocked:
                with scope:
                    assert len({get_order(str(i)) for i in range(9)}) == 1
                assert not any(record.executed for record in scope.records)
        assert sides == {frozenset({"get_order"}), frozenset({"list_orders", "get_user"})}

    def test_s2_of_the_primary_side(self):
        scope = faults("none", scenario="s2", block="primary", domain=DOMAIN)
        assert {scope.episode(str(i)).blocked for i in range(9)} == {frozenset({"get_order"})}

    def test_s3_blocks_every_side_and_every_write_that_needs_it(self):
        scope = faults(scenario="s3", domain=DOMAIN)
        assert scope.blocked == {"get_order", "list_orders", "get_user", "refund"}

    def test_a_mix_is_drawn_for_each_episode(self):
        scope = faults(scenario="30/40/30", domain=DOMAIN)
        assert {scope.episode(str(i)).assignment.effective for i in range(40)} == {"s1", "s2", "s3"}

    def test_exempt_tools_and_escalations_never_fail(self):
        handover = inject(lambda: "ok", name="anything", kind="escalation")
        transfer = inject(lambda: "ok", name="transfer")
        with only("timeout", domain=DOMAIN):
            assert [handover(), transfer()] == ["ok", "ok"]

    def test_a_domain_file(self, tmp_path):
        file = tmp_path / "shop.toml"
        file.write_text(
            'name = "shop"\n[tools]\nstandard = ["get_order", "list_orders"]\n'
            '[classes.order]\nget_order = ["get_order"]\nlist_orders = ["list_orders"]\n'
        )
        assert len(faults(scenario="s2", domain=file).blocked) == 1

    def test_states_of_a_domain_make_answers_stale(self):
        domain = {
            "fields": {"get_order": {"state": ["status"]}},
            "states": {"shipped": ["pending"], "pending": []},
        }
        with only("stale", domain=domain):
            assert inject(lambda: {"status": "shipped"}, name="get_order")() == {"status": "pending"}

    def test_tools_have_profiles_of_their_own(self):
        other = inject(lambda: 1, name="other")
        with faults("none", tools={"get_order": {"timeout": 1.0}, "third": "mild"}, **ALWAYS):
            assert isinstance(get_order("#1"), str)
            assert other() == 1

    def test_rejections_before_the_call(self):
        with only("auth_error", effects="request") as scope:
            get_order("#1")
        assert not scope.records[0].executed


class TestArguments:
    def test_methods_varargs_and_keywords(self):
        class Desk:
            @inject
            def ask(self, who, /, *rest, times=1, **more):
                return 1

            @staticmethod
            @inject
            def still(a):
                return a

            @classmethod
            @inject
            def of(cls, a):
                return a

        with faults("none") as scope:
            Desk().ask("a", "b", "c", times=2, x=[1])
            Desk.still(1)
            Desk.of(2)
        assert [record.call.arguments for record in scope.records] == [
            {"who": "a", "rest": ["b", "c"], "times": 2, "x": [1]},
            {"a": 1},
            {"a": 2},
        ]

    def test_records_hold_copies_and_no_objects(self):
        class Client:
            pass

        def act(client, items):
            items.append(1)

        items: list[int] = []
        client = Client()
        gone = weakref.ref(client)
        with faults("none") as scope:
            inject(act)(client, items)
        del client
        gc.collect()
        assert scope.records[0].call.arguments == {"client": "<Client>", "items": []}
        assert gone() is None

    def test_secrets_are_in_no_repr_and_no_log_unless_asked_for(self, caplog):
        caplog.set_level(logging.DEBUG)
        secret = "sk-0123456789"

        @inject
        def pay(api_key: str, card: dict):
            raise ValueError("declined")

        def play(**options):
            with faults(seed=2, **ALWAYS, **options) as scope:
                for i in range(30):
                    with contextlib.suppress(ValueError):
                        pay(secret, {"number": secret, "n": i})
            return scope

        scope = play()
        shown = f"{scope!r} {scope.records!r} {scope.trajectory()!r} {scope.delivered!r} {caplog.text}"
        assert secret not in shown
        assert "api_key" in shown
        assert scope.records[0].call.arguments["api_key"] == secret
        assert secret in repr(play(show_arguments=True).records)

    def test_a_hidden_call_equals_the_same_call_shown(self):
        with faults("none") as scope:
            get_order("#1")
        assert scope.records[0].call == ToolCall("get_order", {"order_id": "#1"})
        assert scope.records[0].call != ToolCall("get_order", {"order_id": "#2"})
        assert scope.records[0].shown.startswith("{")


class TestRecords:
    def test_the_newest_are_kept(self):
        with faults("none", keep=10) as scope:
            for i in range(100):
                get_order(str(i))
        assert [record.index for record in scope.records] == list(range(90, 100))
        assert scope.calls == 100
        assert len(scope.drain()) == 10
        assert not scope.records

    def test_each_is_told_once(self):
        told = []
        with faults(seed=1, keep=0, on_record=told.append):
            for i in range(50):
                get_order(str(i))
        assert [record.index for record in told] == list(range(50))

    def test_different_calls_beyond_what_is_remembered_do_not_grow(self):
        from bench2robust.integrations import keyed

        with faults("none", keep=0) as scope:
            for i in range(3 * keyed._MOST_CONTENTS):
                get_order(i)
        injector = scope._injector
        assert len(injector._young) + len(injector._old) <= 2 * keyed._MOST_CONTENTS


BAD = [
    ({"profile": "sever"}, "did you mean 'severe'"),
    ({"profile": 3}, "profile=3"),
    ({"profile": {"timeouts": 0.1}}, "unknown noise type"),
    ({"profile": {"timeout": 1.5}}, "sum to 1"),
    ({"profile": "nowhere.toml"}, "nowhere.toml"),
    ({"seed": "1"}, "seed='1'"),
    ({"scenario": "s4"}, "unknown scenario='s4'"),
    ({"scenario": "s2"}, "expected equivalence classes for scenario='s2'"),
    ({"scenario": "10/20/30"}, "sum to 100"),
    ({"block": "both"}, "unknown block='both'"),
    ({"blocked": "get_order"}, "blocked='get_order'"),
    ({"budget": -1}, "budget=-1"),
    ({"effects": "none"}, "unknown effects='none'"),
    ({"keep": -1}, "keep=-1"),
    ({"tools": {"a": "heavy"}}, "unknown profile='heavy'"),
    ({"tools": "a"}, "tools='a'"),
    ({"delivery": "rais"}, "did you mean 'raise'"),
    ({"delivery": 4}, "delivery=4"),
    ({"delivery": UnicodeDecodeError}, "UnicodeDecodeError"),
    ({"delivery": {"timeouts": "text"}}, "did you mean 'timeout'"),
    ({"domain": 4}, "domain=4"),
    ({"domain": {"class": {}}}, "did you mean 'classes'"),
    ({"domain": {"classes": {"a": ["x"]}}}, "two or more sides"),
    ({"domain": {"classes": {"a": "xy"}}}, "two or more sides"),
    ({"domain": {"classes": {"a": ["x", "y"]}, "exempt": ["x"]}}, "exempt 'x'"),
    ({"domain": {"needs": {"w": ["b"]}}}, "unknown class"),
    ({"domain": {"tools": ["get_order"], "exempt": ["get_ordr"]}}, "did you mean 'get_order'"),
    ({"domain": {"fields": {"t": {"number": ["a"]}}}}, "unknown key"),
    ({"domain": "nowhere.toml"}, "nowhere.toml"),
    ({"on_record": 1}, "on_record=1"),
    ({"profil": "severe"}, "unknown option='profil'"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_told_in_one_line(options, message):
    with pytest.raises(UsageError) as caught:
        faults(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_cannot_be_a_tool_is_told_in_one_line():
    def gen():
        yield 1

    for what, options, message in (
        (3, {}, "tool=3"),
        (staticmethod(len), {}, "put @inject below it"),
        (gen, {}, "generator"),
        (dict, {}, "class tool=dict"),
        (len, {"kind": "reed"}, "did you mean 'read'"),
        (len, {"scope": 3}, "scope=3"),
    ):
        with pytest.raises(UsageError, match=message):
            inject(what, **options)
    with pytest.raises(UsageError, match="seconds"):
        Hang(float("inf"))
    with faults("none"), pytest.raises(UsageError, match="make it async def"):
        inject(lambda: aget_order("#1"), name="f")()


def test_importing_the_package_is_cheap():
    program = "import sys, bench2robust; print('bench2robust.integrations' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
    with pytest.raises(AttributeError):
        __import__("bench2robust").nothing  # noqa: B018


def test_every_noise_type_is_delivered_or_said_not_to_land():
    for noise in NOISE_TYPES:
        with only(noise) as scope:
            get_order("#1")
        record = scope.records[0]
        assert record.landed or (noise is NoiseType.STALE and record.withheld == "not_landed")
    assert isinstance(scope, Faults)


def test_an_operator_profile_is_a_profile(tmp_path):
    file = tmp_path / "operator.toml"
    file.write_text(
        'agents = ["strategic"]\nmodes = ["inject"]\nprofile = "severe"\nclean-probability = 0.75\n'
        'budget = 7\nmax-consecutive = 3\n\n[recommendation]\nstrategy = "strategic"\n'
    )
    spec = FaultSpec.read(file)
    assert spec.injection.profile.default["clean"] == pytest.approx(0.75)
    assert spec.injection.limits == Limits(7, 3)
    assert FaultSpec.read(str(file), options={"budget": 2}).injection.limits == Limits(2, 3)
