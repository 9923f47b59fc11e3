"""The embedded Kubernetes API: one cluster's objects, served as the real API server serves them.

What is served, all with create, get, list, watch, update, patch (JSON, merge, strategic, apply), delete
and deletecollection unless said:

    core                         ConfigMap, Endpoints, Event, Namespace (+ /status /finalize, no
                                 deletecollection), Node (+ /status), Pod (+ /status /log), Secret, Service
                                 (+ /status), ServiceAccount (+ /token)
    apps                         Deployment, ReplicaSet (+ /status /scale)
    apiextensions.k8s.io         CustomResourceDefinition (+ /status), and whatever it defines
    rbac.authorization.k8s.io    Role, RoleBinding, ClusterRole, ClusterRoleBinding: enforced
    coordination, discovery, events.k8s.io      Lease, EndpointSlice, Event
    networking.k8s.io, storage.k8s.io           NetworkPolicy, StorageClass: stored, not enforced
    authentication, authorization.k8s.io        reviews of subjects, rights and tokens: create only

Everything else (StatefulSet, DaemonSet, Job, PersistentVolume, HPA, webhooks, quotas, limit ranges) is a
404. Protobuf is read, never written.

How it is built, a request from the outside in:

    server     aiohttp over TLS: bytes and connections only
    service    who asks (authn), may they (rbac), which resource (registry)
    serving    one function a verb: creating, patching, opening (watches), scale, reviews
    writes, deletes, reads    the operations; atomic, since none of them awaits
    strategy, strategies/     what a kind means; documents: the door to schema/, patch/, ssa/, openapi/
    store, journal, watch     memory, SQLite, and who hears of what

Controllers of the API itself (namespaces, definitions, garbage, aggregated roles) run beside it; code
in this process uses `local.LocalClient`. Where answers differ from the recorded ones, and why, is in
docs/architecture/embedded-differences.md.

A choice that is hard to reverse: one process, one thread, synchronous writes. An operation that never
awaits needs no locks and no transactions of its own, and a commit costs less than the JSON around it
(65 us of 550); the price is that nothing here may wait for anything.
"""
