"""Forge brings up a lab from one file and takes it down again, whatever happened in between.

It is generic orchestration: networks, clusters, images, certificates, stacks of manifests and
standalone services, on Docker, on Podman, or as supervised processes on a machine with neither.
What runs inside a lab is no business of this package.

    spec/      forge.yaml becomes values, or a list of everything wrong with it
    plan/      what is wanted against what is there: the changes, their causes, their order
    kinds/     one file a kind of resource, the same four verbs: desire, observe, apply, remove
    stack/     the steps of a stack and the language of its templates
    state/     what Forge remembers between runs, written after every step
    host/      the doors to this machine: the container engine, processes, probes
    embedded/  the runtime for a machine without a container engine
    apply.py   walks a plan in parallel and records every step
    app.py     the use cases: plan, up, status, down, logs, doctor
    render/    values in, text or JSON out
    cli/       flags in, one call, print
"""

__version__ = "0.1.0"
