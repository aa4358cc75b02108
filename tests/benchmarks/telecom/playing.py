"""Plays telecom episodes, for the tests."""

from __future__ import annotations

from bench2robust import agents
from bench2robust.core.episode import Assignment, Mode
from bench2robust.core.noise import NoiseType
from bench2robust.evaluation.episode import Job, run_episode
from bench2robust.injection import InjectionSpec, Limits, NoiseProfile

QUIET = InjectionSpec(profile=NoiseProfile.empty())


def play(bench, task, policy, *, mode=Mode.CLEAN, injection=QUIET, seed=0, assignment=None):
    job = Job(task, mode, seed, assignment or Assignment(), injection, 100)
    return run_episode(bench, agents.create(policy), job)


def noisy(noise, share=0.5):
    """One noise type on a share of the calls, without limits."""
    return InjectionSpec(NoiseProfile({noise: share, NoiseType.CLEAN: 1 - share}), Limits.unlimited())


def replay(bench, task, actions):
    """Carry out actions; returns the environment and the exchanges (call, by_user, response text)."""
    environment = bench.open(task)
    exchanges = []
    for action in actions:
        answer = (environment.act if action.by_user else environment.call)(action.call)
        exchanges.append((action.call, action.by_user, answer.text))
    return environment, exchanges
