"""Measurements that are run by hand, never as timed tests."""
