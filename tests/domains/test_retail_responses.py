"""The retail file against what the tools really answer, over the whole database."""

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

pytestmark = [
    pytest.mark.tau2,
    pytest.mark.skipif(
        not importlib.util.find_spec("tau2"), reason="needs the tau2 wheel: run `b2r setup tau2`"
    ),
]
RETAIL = domains.load("retail")
ENUMS = {"status", "transaction_type", "source", "brand", "cancel_reason"}
BARE_IDS = {"find_user_id_by_email", "find_user_id_by_name_zip", "get_user_by_order"}


@pytest.fixture(scope="module")
def bench():
    from bench2robust.benchmarks.tau2 import retail

    return retail()


@pytest.fixture(scope="module")
def responses(bench):
    """Return (tool, text) of every read of every record, and of every gold call that succeeds."""
    from bench2robust.benchmarks.tau2.provider import retail_data

    database = retail_data().db
    world = bench.open(bench.tasks()[0])
    calls = [("list_all_product_types", {}), ("calculate", {"expression": "12.5 * 3"})]
    for order in database["orders"]:
        names = ("get_order_details", "check_order_item_availability", "get_user_by_order")
        calls += [(name, {"order_id": order}) for name in names]
    for user in database["users"]:
        calls += [(name, {"user_id": user}) for name in ("get_user_details", "get_orders_for_user")]
    for key, product in database["products"].items():
        calls += [
            ("get_product_details", {"product_id": key}),
            ("search_product_by_name", {"name": product["name"]}),
        ]
        for item, variant in product["variants"].items():
            calls.append(("get_item_details", {"item_id": item}))
            options = {"product_id": key, "options": variant["options"]}
            calls.append(("get_item_by_product_options", options))
    found = [(name, world.call(ToolCall(name, arguments))) for name, arguments in calls]
    assert not [name for name, response in found if response.error]
    for task in bench.tasks():
        world = bench.open(task)
        found += [(action.call.name, world.call(action.call)) for action in task.gold]
    return list(dict.fromkeys((name, response.text) for name, response in found if not response.error))


def at(value, path):
    for key in [] if path == "$" else path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def leaves(value, path=()):
    """Yield (path, value) of everything that is no object or list, and of empty ones."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    if not children or not value:
        yield path, value
    for key, child in children:
        yield from leaves(child, (*path, key))


def test_the_file_knows_exactly_the_tools_there_are(bench):
    specs = bench.tools(True)
    text = files("bench2robust.domains").joinpath("retail.toml").read_text()
    listed = re.findall(r'^    "(\w+)",$', text[text.index("[tools]") : text.index("[classes")], re.MULTILINE)
    assert sorted(listed) == sorted(spec.name for spec in specs)
    assert RETAIL.needs.keys() == {spec.name for spec in specs if spec.kind is ToolKind.WRITE}
    others = {spec.name for spec in specs} - BARE_IDS - RETAIL.exempt
    assert RETAIL.fields.keys() == others


def test_every_tool_answers_and_every_pattern_finds_something(responses):
    """No rule names a field that no response has, so none has gone stale."""
    seen = {}
    for tool, text in responses:
        for noise in SILENT:
            rules = RETAIL.fields.get(tool)
            found = rules and corrupt(noise, text, rules, RETAIL.earlier, Draws("all", tool, text))
            for c in found[1] if found else ():
                seen.setdefault((rules, noise), set()).add(re.sub(r"\b\d+\b|\b[a-z_]+_\d+\b", "*", c.path))
    for rules in set(RETAIL.fields.values()):
        kinds = zip(SILENT, (rules.critical, rules.state, rules.numeric), strict=True)
        for noise, patterns in kinds:
            if patterns == ("*",):  # the catalogue: product name to id
                assert len(seen[rules, noise]) > 10
                continue
            assert set(patterns) == seen.get((rules, noise), set())
    assert {tool for tool, _ in responses} >= RETAIL.fields.keys() | BARE_IDS


def test_silent_corruption_of_the_whole_database(responses):
    landed = dict.fromkeys(SILENT, 0)
    for n, (tool, text) in enumerate(responses):
        for noise in SILENT:
            rules = RETAIL.fields.get(tool)
            found = corrupt(noise, text, rules, RETAIL.earlier, Draws("retail", noise, n)) if rules else None
            if found is not None:
                landed[noise] += 1
                check(noise, text, *found)
    assert min(landed.values()) > 1000


def check(noise, text, new, changed):
    """Compare what was delivered with the truth, field by field."""
    true, delivered = json.loads(text), json.loads(new)
    if not text.startswith(("{", "[")):
        assert noise is NoiseType.FACTUAL
        assert re.fullmatch(r"-?\d+\.\d+", new)
    else:
        assert new == json.dumps(delivered)
    paths = {c.path for c in changed}
    for c in changed:
        assert (at(true, c.path), at(delivered, c.path)) == (c.true, c.delivered)
        assert c.true != c.delivered
        assert type(c.true) is type(c.delivered)
        key = c.path.rpartition(".")[2]
        if noise is NoiseType.PARTIAL:
            assert c.delivered in ([], {}, "")
            assert key not in ENUMS
        elif noise is NoiseType.STALE:
            assert key == "status"
            assert c.delivered in RETAIL.earlier[c.true]
        else:
            assert isinstance(c.true, float)
            assert 0.1 - 1e-9 <= abs(c.delivered / c.true - 1) <= 0.25 + 1e-9
            assert len(repr(c.true).partition(".")[2]) == len(repr(c.delivered).partition(".")[2])
    assert outside(true, paths) == outside(delivered, paths)


def outside(value, paths):
    """Return every leaf that no recorded change touches, in order: keys, ids, zips and types included."""
    kept = []
    for path, leaf in leaves(value):
        prefixes = {".".join(map(str, path[:depth])) or "$" for depth in range(len(path) + 1)}
        if not prefixes & paths:
            kept.append((path, type(leaf), leaf))
    return kept


@pytest.mark.parametrize("noise", SILENT)
def test_what_lands_where(responses, noise):
    """Partial and factual land on every order; stale on every order that is not pending; nothing on a bare id."""
    for n, (tool, text) in enumerate(responses):
        rules = RETAIL.fields.get(tool)
        if tool == "get_order_details":
            found = corrupt(noise, text, rules, RETAIL.earlier, Draws(n))
            assert (found is not None) == (
                noise is not NoiseType.STALE or json.loads(text)["status"] != "pending"
            )
        elif tool in BARE_IDS:
            assert rules is None
