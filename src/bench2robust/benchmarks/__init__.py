"""Failure-free environments behind core's port, one sub-package a benchmark, found by entry points."""
