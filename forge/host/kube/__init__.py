"""The door to the API of one cluster: names, discovery, requests, apply, watches. Port Kube."""
