"""Benchmarks: side by side in one run, ratios and medians; never timed tests."""
