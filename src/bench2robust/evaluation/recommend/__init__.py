"""Which recovery strategy to deploy, given how tools fail."""

from .advice import MARGIN, Advice, Advisor, Option, Question, outside
from .evidence import Conditions, Evidence, Trials, from_paper
from .model import Interval, Model

__all__ = [
    "MARGIN",
    "Advice",
    "Advisor",
    "Conditions",
    "Evidence",
    "Interval",
    "Model",
    "Option",
    "Question",
    "Trials",
    "from_paper",
    "outside",
]
