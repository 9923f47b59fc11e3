"""The operator's loop: observe into a World, decide, act. Only observe and act touch anything."""
