"""Forge's tests."""
