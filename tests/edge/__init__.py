"""Edge's tests."""
