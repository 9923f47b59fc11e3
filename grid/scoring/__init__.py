"""From measurements to an order: signals, distance, admission, hard gates, the one sort key. Pure."""
