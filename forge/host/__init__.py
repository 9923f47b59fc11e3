"""The doors to this machine: container engine, processes, probes. Decides nothing."""
