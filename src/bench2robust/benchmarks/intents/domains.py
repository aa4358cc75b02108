"""The domains for which 3I-shaped tasks are generated and loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench2robust.benchmarks.tau2.airline import alternatives as airline_alternatives
from bench2robust.benchmarks.tau2.airline import benchmark as airline_benchmark
from bench2robust.benchmarks.tau2.airline import plan as airline_plan
from bench2robust.benchmarks.tau2.airline.alternatives import AirlineAlternatives
from bench2robust.benchmarks.tau2.alternatives import ALTERNATIVES, AddedTools
from bench2robust.benchmarks.tau2.benchmark import Parts
from bench2robust.benchmarks.tau2.plan import compile_plan
from bench2robust.benchmarks.tau2.provider import airline_code, airline_data, retail_code, retail_data
from bench2robust.benchmarks.tau2.retail import addendum
from bench2robust.core.episode import Task
from bench2robust.core.errors import UnknownNameError

from .airline import AirlineKit
from .airline import refusals as airline_refusals
from .benchmark import Ground, IntentBenchmark
from .checks import Known
from .database import References, known_ids, load_database
from .generate import Counts, Kit, generate
from .loader import load_tasks
from .records import read_record
from .retail import RetailKit
from .retail import refusals as retail_refusals
from .retail.frames import REASONS


@dataclass(frozen=True, slots=True)
class Domain:
    """What 3I-shaped tasks of a domain are made with."""

    ground: Ground
    kit: Callable[[Mapping[str, Any]], Kit]
    """Makes what the generator draws with, on a database."""
    references: References
    """Argument names to where the database keeps what they name."""
    counts: Counts
    """How many tasks the benchmark of this domain has."""
    rules: Mapping[str, Sequence[str]]
    """Rule that an infeasible task may break, to the facts that its record holds."""

    @property
    def name(self) -> str:
        """The domain's name."""
        return self.ground.domain

    @property
    def db(self) -> dict[str, Any]:
        """The database."""
        return self.ground.parts.data().db


RETAIL = Domain(
    ground=Ground(
        domain="retail",
        parts=Parts(
            data=retail_data,
            code=retail_code,
            supply=AddedTools,
            alternatives=ALTERNATIVES,
            addendum=addendum,
            compile=compile_plan,
            substitutes={"get_item_details": "get_product_details"},
        ),
        refusal=retail_refusals.compile_refusal,
        id_pattern=r"#W\d{7}|\b\d{10}\b|\b(?:credit_card|gift_card|paypal)_\d+\b|\b[a-z]+_[a-z]+_\d{4}\b",
    ),
    kit=RetailKit,
    references=References(
        tables={"order_id": "orders", "user_id": "users", "product_id": "products"},
        inside={
            "item_id": ("products", "variants"),
            "item_ids": ("products", "variants"),
            "new_item_ids": ("products", "variants"),
            "payment_method_id": ("users", "payment_methods"),
        },
        named={"reason": tuple(REASONS)},
        keys={"orders": "order_id", "users": "user_id", "products": "product_id"},
        links=(
            ("users", "orders", "orders"),
            ("orders", "user_id", "users"),
            ("orders", "items.product_id", "products"),
        ),
        owned=(("users", "orders", "orders", "user_id"),),
        listed=(("orders", "items.item_id", "item_id"),),
    ),
    counts=Counts(general=473, ambiguous=473, changing=279),
    rules=retail_refusals.RULES,
)

AIRLINE = Domain(
    ground=Ground(
        domain="airline",
        parts=Parts(
            data=airline_data,
            code=airline_code,
            supply=AirlineAlternatives,
            alternatives=airline_alternatives.ALTERNATIVES,
            addendum=airline_benchmark.addendum,
            compile=airline_plan.compile_plan,
        ),
        refusal=airline_refusals.compile_refusal,
        id_pattern=airline_benchmark.AirlineBenchmark.id_pattern,
    ),
    kit=AirlineKit,
    references=References(
        tables={"user_id": "users", "reservation_id": "reservations", "flight_number": "flights"},
        inside={"payment_id": ("users", "payment_methods")},
        fields={name: ("flights", ("origin", "destination")) for name in ("origin", "destination")},
        keys={"reservations": "reservation_id", "users": "user_id", "flights": "flight_number"},
        links=(
            ("users", "reservations", "reservations"),
            ("reservations", "user_id", "users"),
            ("reservations", "flights.flight_number", "flights"),
        ),
        owned=(("users", "reservations", "reservations", "user_id"),),
    ),
    counts=Counts(general=254, ambiguous=254, changing=76),
    rules=airline_refusals.RULES,
)

DOMAINS: Mapping[str, Domain] = {domain.name: domain for domain in (RETAIL, AIRLINE)}


def domain_named(name: str) -> Domain:
    """Return a domain.

    Raises:
        UnknownNameError: no tasks are generated for it.
    """
    if name not in DOMAINS:
        raise UnknownNameError("domain", name, DOMAINS)
    return DOMAINS[name]


def on_database(domain: Domain, file: Path | None) -> Domain:
    """Return the domain on a database of the user's, read and checked here; None keeps the stock one.

    Raises:
        SpecError: the file is not such a database.
    """
    if file is None:
        return domain
    ground = domain.ground
    stock = ground.parts.data
    database = load_database(file, ground.parts.code().records, domain.references)
    parts = replace(ground.parts, data=lambda: replace(stock(), db=database))
    return replace(domain, ground=replace(ground, parts=parts))


def benchmark_of(domain: Domain, name: str, source: Callable[[], Sequence[Task]]) -> IntentBenchmark:
    """Return a benchmark of tasks on a domain."""
    return IntentBenchmark(name, domain.ground, source)


def generated(
    domain: Domain, counts: Counts, seed: int, watch: Callable[[int], object] = lambda made: None
) -> list[dict[str, Any]]:
    """Return newly generated task records of a domain; `watch` is told how many there are so far.

    Raises:
        SpecError: the database does not support so many different tasks.
    """
    benchmark = benchmark_of(domain, f"{domain.name}-3i", tuple)
    return generate(domain.kit(domain.db), benchmark, counts, seed, watch)


def from_file(domain: Domain, name: str, file: Path) -> IntentBenchmark:
    """Return the benchmark of a task file, read and checked now.

    Raises:
        SpecError: the file does not hold tasks for this database.
    """
    empty = benchmark_of(domain, name, tuple)
    tools = {tool.name: tool for tool in empty.tools(alternatives=True)}
    known = Known(tools, known_ids(domain.references, domain.db), domain.rules)
    tasks = load_tasks(file, known, empty)
    return benchmark_of(domain, name, lambda: tasks)


def as_tasks(records: Sequence[Mapping[str, Any]]) -> tuple[Task, ...]:
    """Return records as tasks."""
    return tuple(map(read_record, records))
