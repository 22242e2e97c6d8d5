"""Side-by-side measurement of tapegrad and its peers; run it with `python -m benchmarks`."""
