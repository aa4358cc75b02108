"""``b2r tasks generate`` and ``b2r tasks split``."""

from __future__ import annotations

import importlib.util
import json

import pytest

from bench2robust.cli.main import exit_code

needs_tau2 = pytest.mark.skipif(importlib.util.find_spec("tau2") is None, reason="needs the tau2 wheel")


@needs_tau2
@pytest.mark.tau2
def test_a_file_of_the_counts_asked_for(tmp_path, capsys):
    file = tmp_path / "tasks.json"
    command = [
        "tasks",
        "generate",
        "--domain",
        "retail",
        "--general",
        "3",
        "--infeasible",
        "2",
        "--out",
        str(file),
    ]
    assert exit_code(command) == 0
    assert "5 3I-shaped retail tasks (3 general, 2 infeasible)" in capsys.readouterr().out
    assert len(json.loads(file.read_text(encoding="utf-8"))) == 5
    first = file.read_bytes()
    assert exit_code([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == {"general": 3, "infeasible": 2}
    assert file.read_bytes() == first
    assert exit_code([*command, "--seed", "1"]) == 0
    assert file.read_bytes() != first
    capsys.readouterr()
    assert exit_code(["tasks", "list", "--benchmark", f"retail-3i:{file}"]) == 0
    assert "infeasible-1" in capsys.readouterr().out


@needs_tau2
@pytest.mark.tau2
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--domain", "retial"), "unknown domain='retial'; did you mean 'retail'?"),
        (("--domain", "retail", "--general", "2", "--ambiguous", "3"), "got ambiguous=3 with general=2"),
        (("--domain", "retail", "--changing", "-1"), "got changing=-1"),
        (("--domain", "retail", "--general", "0"), "expected at least one task to generate"),
        (
            ("--domain", "retail", "--general", "100000"),
            "expected at most 10000 tasks of one intent in a file, got general=100000",
        ),
        (
            ("--domain", "retail", "--db", "nowhere.json"),
            "expected a file that can be read, got file='nowhere.json'",
        ),
    ],
)
def test_what_cannot_be_is_one_line_and_writes_nothing(tmp_path, capsys, options, problem):
    file = tmp_path / "tasks.json"
    assert exit_code(["tasks", "generate", *options, "--out", str(file)]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert not file.exists()


@needs_tau2
@pytest.mark.tau2
def test_an_unwritable_place(tmp_path, capsys):
    command = ["tasks", "generate", "--domain", "retail", "--general", "1", "--out"]
    assert exit_code([*command, str(tmp_path / "no" / "tasks.json")]) == 2
    assert "expected a file in a folder that exists" in capsys.readouterr().err
    assert exit_code([*command, str(tmp_path)]) == 2
    assert "expected a file that can be written" in capsys.readouterr().err


def test_the_split_of_a_benchmark_without_one(capsys):
    assert exit_code(["tasks", "split", "--benchmark", "toy-library"]) == 0
    out = capsys.readouterr().out
    assert "held_out: 0 tasks" in out
    assert "(verified)" in out
    assert exit_code(["tasks", "split", "--benchmark", "toy-library", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["held_out"] == []


def _emptied(*tables):
    def change(db):
        for table in tables or db:
            db[table] = {}

    return change


def _each(table, **values):
    def change(db):
        for record in db[table].values():
            record.update(values)

    return change


def _first(table, **values):
    def change(db):
        next(iter(db[table].values())).update(values)

    return change


def _unknown_variants(db):
    for order in db["orders"].values():
        for item in order["items"]:
            item["item_id"] = "X"


@needs_tau2
@pytest.mark.tau2
@pytest.mark.parametrize(
    ("domain", "change", "problem"),
    [
        ("retail", _emptied("orders", "users", "products"), "expected records in table '"),
        (
            "retail",
            _each("users", orders=[]),
            "expected a database with users for whom something can be done",
        ),
        ("retail", _each("users", payment_methods={}), "expected a database that tasks can be made of"),
        ("retail", _each("orders", payment_history=[]), "expected a database that tasks can be made of"),
        ("retail", _each("orders", items=[]), "expected a database that tasks can be made of"),
        ("retail", _first("users", orders=["#W0"]), "expected orders to be in table 'orders', got \"#W0\""),
        ("retail", _first("orders", user_id="no"), "expected user_id to be in table 'users', got \"no\""),
        ("retail", _first("orders", order_id="#W0"), 'expected order_id="#W2611340", got "#W0"'),
        ("retail", _each("orders", user_id="ivan_santos_6635"), ", whose orders name it, got "),
        ("retail", _unknown_variants, 'expected items.item_id to be an item_id of products, got "X"'),
        ("airline", _each("reservations", user_id="mia_li_3668"), ", whose reservations name it, got "),
        ("airline", _emptied("users"), "expected records in table 'users', got none"),
        ("airline", _emptied("reservations"), "expected records in table 'reservations', got none"),
        ("airline", _emptied("flights"), "expected records in table 'flights', got none"),
        ("airline", _each("users", reservations=[]), "with users for whom something can be done"),
        ("airline", _each("reservations", flights=[]), "expected a database that tasks can be made of"),
        ("airline", _each("reservations", passengers=[]), "expected a database that tasks can be made of"),
    ],
)
def test_a_database_that_holds_too_little_is_one_line(tmp_path, capsys, domain, change, problem):
    from bench2robust.benchmarks.intents.domains import domain_named

    db = json.loads(json.dumps(domain_named(domain).db))
    change(db)
    database, file = tmp_path / "db.json", tmp_path / "tasks.json"
    database.write_text(json.dumps(db), encoding="utf-8")
    command = ["tasks", "generate", "--domain", domain, "--general", "2", "--db", str(database)]
    assert exit_code([*command, "--out", str(file)]) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert not file.exists()
