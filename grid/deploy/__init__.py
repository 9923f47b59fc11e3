"""The deployment package: CRDs, roles, Deployment. Data only; no code belongs here.

    crds/       what `grid.crd.schema` makes
    rbac/       the namespace, the accounts and exactly what each may do
    workload/   two replicas of the operator; its place comes from the ConfigMap grid-operator-env
    swim/       the Service other sites speak to; its address is this operator's GRID_SWIM_ADVERTISE

`kubectl apply -k grid/deploy` applies all; each folder can also be applied by itself, in this order. The
operator reads one Secret through the API, the key that seals membership, by name: its certificate is mounted,
credentials stay with whoever uses them.
"""
