"""BFCL's own code as the oracle: its executor and its checker, with a name of their own each time."""

from __future__ import annotations

import json
from itertools import count

from bench2robust.benchmarks.bfcl import provider

_TRIALS = count()


class Upstream:
    """BFCL's executor and checker. What they leave in the process is taken away after every use."""

    def __init__(self):
        from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker, multi_turn_utils

        self.check = multi_turn_checker.multi_turn_checker
        self.execute = multi_turn_utils.execute_multi_turn_func_call
        self.globals = multi_turn_utils.__dict__

    def verdict(self, entry, turns):
        """BFCL's verdict on calls, written as BFCL writes them, turn by turn."""
        if len(turns) < len(entry.gold):  # what its runner looks at before it calls the checker
            return False
        with _Named(self) as name:
            raw = {
                "id": entry.id,
                "initial_config": json.loads(json.dumps(entry.config)),
                "involved_classes": list(entry.classes),
            }
            decoded = [[[call] for call in calls] for calls in turns]
            gold = [list(lines) for lines in entry.gold]
            return self.check(decoded, gold, raw, str(entry.id).rpartition("_")[0], name)["valid"]

    def responses(self, entry, calls):
        """What BFCL's executor answers to calls, one after the other."""
        with _Named(self) as name:
            config, classes = json.loads(json.dumps(entry.config)), list(entry.classes)
            found, _ = self.execute(list(calls), config, classes, name, entry.id, entry.long_context)
            return found


class _Named:
    def __init__(self, upstream):
        self.upstream, self.name = upstream, f"trial{next(_TRIALS)}"

    def __enter__(self):
        self._forget_defaults()
        return self.name

    def __exit__(self, *error):
        for key in [key for key in self.upstream.globals if key.startswith(self.name)]:
            del self.upstream.globals[key]
        self._forget_defaults()

    def _forget_defaults(self):
        provider.api_class("TwitterAPI").post_tweet.__defaults__ = ([], [])
