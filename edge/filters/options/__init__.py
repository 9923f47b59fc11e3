"""What a configuration says of each filter, a file a filter.

Apart from the filters, since these are pydantic's classes: they cannot be compiled ahead of time, and a
filter may be (docs/architecture/edge-wire.md).
"""
