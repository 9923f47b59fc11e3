"""The grid_route filter: what its configuration may say, and what it does with a request."""
