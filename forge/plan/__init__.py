"""Forge's judgement: values, allocation, the difference and its order, the ports. No I/O here."""
