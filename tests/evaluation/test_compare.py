"""Comparing systems: which are meant, what the difference is, and when the second is worse."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from bench2robust.core.episode import Mode
from bench2robust.core.errors import SpecError, UnknownNameError, UsageError
from bench2robust.evaluation import RunSpec, run
from bench2robust.evaluation.compare import Side, compare, difference_of, effects, sides, worse
from bench2robust.evaluation.statistics import Sample
from bench2robust.evaluation.study import Study

SPEC = RunSpec("toy-library", agents=("naive", "strategic"), seeds=tuple(range(6)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "old"
    run(SPEC, path, workers=1)
    return path


@pytest.fixture(scope="module")
def both(folder):
    new = folder.with_name("new")
    shutil.copytree(folder, new)
    return Study.load([folder, new])


def test_two_systems_of_one_run(folder):
    study = Study.load([folder])
    assert sides(study) == [(Side("naive"), Side("strategic"))]
    rows = compare(study, sides(study, ["strategic", "naive"]))
    assert [row.mode for row in rows] == list(Mode)
    hard = next(row for row in rows if row.mode is Mode.INJECT)
    own = study.select(mode="inject")
    expected = [own.select(system=name).column("passed").mean() for name in ("strategic", "naive")]
    assert (hard.before.mean, hard.after.mean) == pytest.approx(tuple(expected))
    assert hard.difference.mean == pytest.approx(expected[1] - expected[0])
    assert hard.p >= hard.difference.p


def test_each_agent_of_a_run_with_itself_in_the_other(both):
    assert [(a.system, b.system) for a, b in sides(both)] == [
        ("naive @ old", "naive @ new"),
        ("strategic @ old", "strategic @ new"),
    ]
    for row in compare(both, sides(both), modes=[Mode.INJECT_ALT]):
        assert (row.difference.mean, row.p) == (0, 1)
        assert not worse(row, 0.0)


def test_what_is_not_clear_is_asked(folder, both):
    with pytest.raises(UsageError, match="two systems such as"):
        sides(both, ["naive @ old"])
    with pytest.raises(UnknownNameError, match="unknown system='nobody'"):
        sides(both, ["nobody", "naive @ old"])
    study = Study.load([folder])
    with pytest.raises(UsageError, match="in a common mode"):
        compare(study.select(mode="clean"), sides(study), modes=[Mode.INJECT])
    with pytest.raises(UnknownNameError, match="unknown metric"):
        compare(study, sides(study), "beauty")


def test_the_second_is_worse_when_it_loses_more_than_the_margin_beyond_chance(folder):
    study = Study.load([folder])
    (row,) = compare(study, sides(study, ["strategic", "naive"]), modes=[Mode.INJECT])
    loss = -row.difference.mean
    assert loss > 0.2
    significant = row.p < 0.05
    assert worse(row, 0.02) is significant
    assert not worse(row, loss + 0.01)
    assert worse(row, loss + 0.01, strict=True)  # it might be more
    assert not worse(row, -row.difference.low + 0.01, strict=True)
    (better,) = compare(study, sides(study, ["naive", "strategic"]), modes=[Mode.INJECT])
    assert not worse(better, 0.0, strict=False)


def test_less_is_better_for_some_metrics_and_neither_for_others(folder):
    study = Study.load([folder])
    (row,) = compare(study, sides(study, ["strategic", "naive"]), "premature_rate", [Mode.INJECT])
    assert row.difference.mean > 0
    assert worse(row, 0.0) is (row.p < 0.05)
    (row,) = compare(study, sides(study), "escalation_rate", [Mode.INJECT])
    with pytest.raises(SpecError, match="metric='escalation_rate'"):
        worse(row, 0.0)
    with pytest.raises(SpecError, match="fail-if-worse=-1"):
        worse(row, -1)


def test_ratios_and_samples_with_nothing_in_common_are_not_paired(folder):
    study = Study.load([folder])
    (row,) = compare(study, sides(study), "recovery_rate", [Mode.INJECT])
    assert not row.difference.paired
    assert row.shorter is None
    apart, shorter = difference_of(Sample.of(np.eye(4)), Sample(np.arange(4) + 9, np.zeros(4), np.ones(4)))
    assert (apart.paired, shorter) == (False, None)
    assert "no episodes in common" in apart.warnings


def test_the_modes_take_apart_tools_noise_and_blocking(folder):
    own = Study.load([folder]).select(system="naive")
    found = {effect.name: effect.difference for effect in effects(own)}
    assert set(found) <= {"extra tools", "noise", "noise and blocking", "blocking"}

    def rate(**where):
        return own.select(**where).column("passed").mean()

    assert found["extra tools"].mean == pytest.approx(rate(mode="clean_alt") - rate(mode="clean"))
    assert found["noise and blocking"].mean == pytest.approx(rate(mode="inject_alt") - rate(mode="clean_alt"))
    assert not found["blocking"].paired
    hard = {"mode": "inject_alt"}
    assert found["blocking"].mean == pytest.approx(
        rate(**hard, effective="s2") - rate(**hard, effective="s1")
    )


def test_a_run_beside_itself_says_nothing_of_pairing():
    from bench2robust.evaluation.compare import difference_of
    from bench2robust.evaluation.statistics import Sample

    alike = Sample.of([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert difference_of(alike, alike)[1] is None
