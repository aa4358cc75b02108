"""The command ``b2r``: parses arguments and prints; what it does lives elsewhere."""
