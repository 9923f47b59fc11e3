"""The one door to Kubernetes."""
