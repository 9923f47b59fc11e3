"""The gateway's YAML as strict models; what cannot be safe is refused before a port is opened."""
