"""Certificates and generated secrets on this machine's disk: the Material port.

    .forge/secrets/<name>/value                   a generated secret, 0600
    .forge/secrets/_forge/authority/<name>.key    an authority's private key, 0600; .crt beside it
    .forge/secrets/_forge/<kind>/<name>.json      the index: hashes, instants, folders
    .forge/runtime/certs/<authority>/ca.crt       what the lab trusts
    .forge/runtime/certs/<leaf>/                  tls.crt, tls.key, ca.crt; or the leaf's `directory`

A leaf's folder is laid out as a kubelet lays out a Secret: the three names are links into `..data`,
and `..data` is a link to a folder that is written whole before `..data` is turned to it by one
rename. Whoever resolves `..data` once sees files that fit; whoever opens the names one after the
other while they are turned may meet one old and one new, and meets the new pair at the event that
the turning is. So a program that reloads on change needs nothing but to load again then.

Keys are 0600 and of the user that runs Forge; folders are 0755, since .forge itself is 0700. A
service that runs as another user can read certificates and cannot read keys: Forge runs services as
its caller, which is why that works.

What stands there is judged by the index and by hashes of files, never by reading a certificate: a run
that has nothing to do does not load the library that could. Nothing here prints or returns key bytes
but `read_leaf` and `read_secret`, for the Secrets of clusters.
"""
