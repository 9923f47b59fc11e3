"""grid-overlay-sync: brings one overlay from its ConfigMap to a file, whole or not at all."""
