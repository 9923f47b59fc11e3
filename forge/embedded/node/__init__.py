"""The node of an embedded cluster: its kubelet, whose containers are processes, and the controllers that
make pods and name endpoints.

    component.py     all of it as one component of the daemon
    kubelet.py       the Node object, a worker for each pod, and what wakes them
    worker.py        one pod, level by level;  recipe.py, mounting.py: what a container runs, and its files
                     rounds.py, checking.py: its probes and hooks;  endings.py: how it ends
    containers.py    restart, back-off and status of a container        } values in, values out:
    podstatus.py     phase and conditions                               } no clock, no disk
    probing.py, scheduling.py, environment.py, fields.py, volumes.py, images.py, addresses.py, machine.py
    projection.py    volumes on disk, swapped whole
    podlogs.py       GET pods/NAME/log
    deployments.py   the shell round rollout.py;  replicasets.py, endpoints.py: likewise, decisions above
    lifecycle.py     nodes that stopped renewing their Lease;  controlling.py: what controllers share
    recorder.py      events;  objects.py: the cluster's objects;  hands.py: what workers share

What it does not do, and says so where it is asked: images are commands (`--images`), and one without a
command stays in ImagePullBackOff; there is no isolation, no limit of processor or memory, no security
context, no user, no hostPort; resource requests do not count, activeDeadlineSeconds passes; volumes are
those of volumes.py; ephemeral containers, exec, attach and port-forward are missing. Mounts are seen
through argv, env and the working directory alone (process/mounts.py), so a program finds a file at a
path that it was told, never at one that it has built in; for the API that is KUBECONFIG in place of the
in-cluster path. Back-off is half a second doubling to a minute. A readiness or startup probe is asked
every few moments until it first passes, whatever its period.
"""
