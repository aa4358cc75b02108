"""A stand-in for a model, for the examples: it calls a tool until the answer looks fine, and says the answer.

With a real model none of this is needed.
"""

FAILED = ("Error", "HTTP", "Unknown field", "Required field")


def wants_another_try(answers: list[str], most: int = 4) -> bool:
    """Whether the last answer is missing or a failure, and patience is left."""
    return len(answers) < most and (not answers or answers[-1].startswith(FAILED))
