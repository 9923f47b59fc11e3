"""The runtime for a machine without a container engine. Imports nothing else of Forge but its errors."""
