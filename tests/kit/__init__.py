"""Fakes that keep a port's contract, and small builders of test values."""
