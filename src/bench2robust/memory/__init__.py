"""Bayesian Tool Memory (paper, section 3.1): beliefs, structure, the block and the notes that agents read."""
