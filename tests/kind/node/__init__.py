"""What runs in a test node: small stand-ins for the programs that kind calls in a real one.

    entrypoint   process 1: starts what the node is when kubeadm says so, and again after a restart
    kubeadm      init: asks process 1 for the API, writes admin.conf; join: registers a Node
    kubelet      a worker's: renews the Node's Lease, and says its address
    dns          a control plane's: resolves names of Services;  api: how both speak to the API
    ctr, crictl, containerd    a register of the images that were loaded; nothing is unpacked
    speaker      a pod of tests/kind/metallb.yaml: puts load-balancer addresses on eth0
    journalctl, systemctl      the daemon's log; refusals that say why

They are run as `python3 -m tests.kind.node.NAME` by a command of their name in the image. None of them
pretends to be Kubernetes: versions end in +forge, and each Node is labelled as a stand-in.
"""
