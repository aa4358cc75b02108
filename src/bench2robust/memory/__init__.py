"""Bayesian Tool Memory: what past episodes and the domain know about recovering from failing tools."""
