"""The immutable snapshot and the selection from it: pure functions that return their reason."""
