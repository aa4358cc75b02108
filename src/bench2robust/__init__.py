"""Bench2Robust: make tools fail in controlled ways, and see which agents survive it."""

__version__ = "0.1.0"
