"""E2E's tests."""
