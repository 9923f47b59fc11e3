"""Clusters as this machine has them: made, found, started, stopped and removed, by their driver.

    drivers.py     the Clusters port: each cluster to its driver
    kind.py        KIND clusters;  kind_command.py: the command;  kind_look.py: what is seen of them
    nodes.py       their node containers on the engine
    embedded.py    embedded clusters, each a daemon under the environment's supervisor
    existing.py    clusters that are there and stay
    folder.py      <state_dir>/clusters/<name>/: what is kept of each
    kubeconfig.py  access files;  api.py: the few requests that making a cluster takes
    ready.py       the wait until it is ready;  marker.py: whose it is

A cluster is ours when the state file records it and the cluster says so too: by the ConfigMap
kube-system/forge-owner, or, while its API does not answer, by its node containers' network, which
carries our labels. A name proves nothing.

What was made whole and does not answer is STOPPED, whatever the reason: it is started again, and
nothing of it is lost. Only what was never finished is BROKEN, and goes before it is made anew.
"""
