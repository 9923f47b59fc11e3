"""The file a new lab begins with: two small services that run on any runtime, and what to try next."""

from __future__ import annotations

import re

_STARTER = """\
# A lab for praxis-forge: two small web servers, one waiting for the other.
#
#   praxis-forge plan       what would be done
#   praxis-forge up         do it; run it again and nothing happens
#   praxis-forge status     what is there
#   praxis-forge down       take it all away
#
# For completion and checks in an editor: praxis-forge config schema > forge.schema.json,
# then make this the first line:  # yaml-language-server: $schema=forge.schema.json
apiVersion: forge.praxis.dev/v1alpha1
kind: Environment

metadata:
  # Containers and the network are named after it: @NAME@-web, @NAME@-net.
  name: @NAME@

spec:
  runtime:
    # docker, podman, or embedded: supervised processes on a machine without a container engine.
    # auto takes the first that works, and says which.
    provider: auto

  images:
    # On embedded a process stands for the image; [] runs the arguments of the service as they are.
    - name: python:3.12-slim
      process: []

  services:
    - name: api
      image: python:3.12-slim
      network: environment
      # POD_IP is the address of the service on the lab network. Bind to it, never to a fixed one.
      args: [sh, -c, 'exec python3 -m http.server 8000 --bind "${POD_IP:-0.0.0.0}"']
      ports:
        - bindAddress: 127.0.0.1
          host: 8081
          container: 8000
      healthCheck:
        type: http
        port: 8000
        path: /
        interval: 500ms
        timeout: 2s
        retries: 20

    - name: web
      image: python:3.12-slim
      network: environment
      # api has a health check, so web starts once it is healthy.
      dependsOn: [api]
      env:
        GREETING: hello
      args: [sh, -c, 'exec python3 -m http.server 8000 --bind "${POD_IP:-0.0.0.0}"']
      ports:
        - bindAddress: 127.0.0.1
          host: 8080
          container: 8000
      healthCheck:
        type: http
        port: 8000
        path: /
        interval: 500ms
        timeout: 2s
        retries: 20
"""


def starter(name: str = "lab") -> str:
    """The text of a forge.yaml that is valid as it stands. name: see name_from."""
    return _STARTER.replace("@NAME@", name)


def name_from(folder: str) -> str:
    """A valid environment name from a folder's, short enough for the names derived from it."""
    return re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:40].strip("-") or "lab"
