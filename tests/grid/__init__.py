"""Grid's tests."""
