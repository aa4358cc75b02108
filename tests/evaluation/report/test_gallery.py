"""The gallery: chosen by rule, told as it was."""

from __future__ import annotations

from bench2robust.core.episode import Escalation, Mode, Scenario
from bench2robust.evaluation.report import Shown, Strategy, markdown, played_by, stories
from bench2robust.evaluation.report.part import rate
from bench2robust.evaluation.report.telling import told
from bench2robust.measures import Move, failed_visibly, measure


def moves(played):
    table = measure(played.episode, played.facts).moves
    return {move: sum(row[place] for row in table) for place, move in enumerate(Move)}


def test_the_three_stories_keep_their_rules(study):
    found = stories(Shown.of(study))
    assert [story.strategy for story in found] == list(Strategy)
    for story in found:
        good, weak = story.good.episode.result, story.weak.episode.result
        assert (good.task, good.seed, good.mode) == (weak.task, weak.seed, weak.mode)
        assert good.mode is Mode.INJECT_ALT
        assert good.assignment == weak.assignment
        rates = [
            rate(study.select(system=p.role.known_as, mode=Mode.INJECT_ALT)).mean
            for p in (story.good, story.weak)
        ]
        assert rates[0] > rates[1]
    retry, switch, abstain = found
    assert retry.good.episode.result.assignment.effective is Scenario.S1
    assert moves(retry.good)[Move.RETRY]
    assert not moves(retry.good)[Move.SWITCH]
    assert switch.good.episode.result.assignment.effective is Scenario.S2
    assert moves(switch.good)[Move.SWITCH]
    for story in (retry, switch):
        assert story.good.episode.result.outcome.score.passed
        assert not story.weak.episode.result.outcome.score.passed
        assert any(r.injected for r in story.weak.episode.trajectory.records)
    outcome = abstain.good.episode.result.outcome
    assert abstain.good.episode.result.assignment.effective is Scenario.S3
    assert outcome.escalation is Escalation.ABSTAIN
    assert measure(abstain.good.episode, abstain.good.facts).wrong_writes == 0
    assert moves(abstain.good)[Move.RETRY]
    assert moves(abstain.good)[Move.SWITCH]
    assert len({story.good.episode.result.task for story in found}) == 3


def test_what_is_told_names_each_of_the_first_failures_as_delivered(study):
    for story in stories(Shown.of(study)):
        for played in (story.good, story.weak):
            records = played.episode.trajectory.records
            text = told(played)
            assert text.startswith(f"{len(records)} calls.")
            for number, record in [(n, r) for n, r in enumerate(records, 1) if failed_visibly(r)][:3]:
                assert f"Call {number}, {record.call.name}, " in text


def test_markdown_holds_every_call_and_no_markup(study):
    found = stories(Shown.of(study))
    text = markdown(found, [*played_by(study), "b2r report"])
    assert text.count("\n## ") == 3
    assert "b2r run --benchmark helpdesk --agents naive,retry,switch,strategic" in text
    calls = sum(len(p.episode.trajectory.records) for s in found for p in (s.good, s.weak))
    assert len([line for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]) == calls
    assert "<" not in text.replace("&lt;", "")


def test_one_system_alone_has_no_story(study):
    assert stories(Shown.of(study.select(system="retry"))) == []
