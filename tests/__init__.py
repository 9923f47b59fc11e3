"""The tests, path for path as the code."""
