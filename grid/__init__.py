"""Grid is the control plane: it decides what is routable and in which order, and never touches a request."""
