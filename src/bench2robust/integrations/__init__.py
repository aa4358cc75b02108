"""Outside the benchmarks: the injector and the memory around agents that people ship."""
