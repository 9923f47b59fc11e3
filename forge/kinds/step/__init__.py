"""Steps of stacks. kind.py has the four verbs; each of the other files does one family of steps.

work.py       what a step is given, and what comes of it       run.py    one step from its begin to its end
applied.py    manifest, template-manifest, kustomize, url      made.py   objects that steps spell out
looked.py     wait, capture, http-wait                         ran.py    exec, helm
written.py    template-file, kubeconfig                        dns.py    core-dns-forward
"""
