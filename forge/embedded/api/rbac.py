"""May they? Roles and bindings evaluated for one request, with the reason a review repeats.

Bindings are indexed by the subjects they name, so that a decision looks only at those that concern
the user; the index is rebuilt after any RBAC object changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from forge.embedded.api import status
from forge.embedded.api.cluster import Cluster, User
from forge.embedded.api.store import Store
from forge.embedded.api.values import Event, Json, Key, dig

_GROUP = "rbac.authorization.k8s.io"
ROLES = f"roles.{_GROUP}"
CLUSTER_ROLES = f"clusterroles.{_GROUP}"
BINDINGS = f"rolebindings.{_GROUP}"
CLUSTER_BINDINGS = f"clusterrolebindings.{_GROUP}"
_WATCHED = {ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS}


@dataclass(frozen=True, slots=True)
class Question:
    """path set: a plain path. resource includes the subresource: `pods/log`."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """reason: why it is allowed; empty when it is not."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Grant:
    """One subject of one binding. namespace: empty for a ClusterRoleBinding."""

    binding: str
    namespace: str
    role: str
    role_kind: str
    subject: str
    rules: tuple[Json, ...]


class Authorizer:
    """Decides from the roles and bindings that *store* holds at that moment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._grants: dict[str, list[_Grant]] | None = None
        store.subscribe(self._heard)

    def _heard(self, event: Event) -> None:
        if event.record.key.resource in _WATCHED:
            self._grants = None

    def decide(self, user: User, asked: Question) -> Decision:
        if user.is_admin:
            return Decision(allowed=True)
        for grant in self.grants(user, asked.namespace):
            if any(allows(rule, asked) for rule in grant.rules):
                return Decision(allowed=True, reason=_reason(grant))
        return Decision(allowed=False)

    def rules(self, user: User, namespace: str) -> list[Json]:
        """All rules that hold for *user* in *namespace*, cluster-wide ones first."""
        if user.is_admin:
            return [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]
        return [rule for grant in self.grants(user, namespace) for rule in grant.rules]

    def grants(self, user: User, namespace: str) -> Iterator[_Grant]:
        if self._grants is None:
            self._grants = self._index()
        subjects = [f"User:{user.name}", *(f"Group:{g}" for g in user.groups)]
        found = [g for s in subjects for g in self._grants.get(s, ())]
        yield from (g for g in found if not g.namespace)
        if namespace:
            yield from (g for g in found if g.namespace == namespace)

    def _index(self) -> dict[str, list[_Grant]]:
        index: dict[str, list[_Grant]] = {}
        for resource in (CLUSTER_BINDINGS, BINDINGS):
            # Newest names first: the order in which the real server's cache happens to hold its own.
            for record in reversed(self._store.records(resource)):
                self._add(index, record.object, record.key)
        return index

    def _add(self, index: dict[str, list[_Grant]], binding: Json, key: Key) -> None:
        ref = binding.get("roleRef") or {}
        rules = tuple(self.role_rules(ref, key.namespace))
        for subject in binding.get("subjects") or []:
            name, said = _subject(subject, key.namespace)
            grant = _Grant(key.name, key.namespace, ref.get("name", ""), ref.get("kind", ""), said, rules)
            index.setdefault(name, []).append(grant)

    def role_rules(self, ref: Json, namespace: str) -> list[Json]:
        """The rules of the role that *ref* names; none when there is no such role."""
        name = ref.get("name", "")
        key = Key(ROLES, namespace, name) if ref.get("kind") == "Role" else Key(CLUSTER_ROLES, "", name)
        found = self._store.get(key)
        return list(dig(found.object, "rules") or []) if found else []


def _subject(subject: Json, namespace: str) -> tuple[str, str]:
    """(as users are matched, as reasons print it)."""
    kind, name = subject.get("kind", ""), subject.get("name", "")
    if kind == "ServiceAccount":
        place = subject.get("namespace") or namespace
        return f"User:system:serviceaccount:{place}:{name}", f'ServiceAccount "{name}/{place}"'
    return f"{kind}:{name}", f'{kind} "{name}"'


def _reason(grant: _Grant) -> str:
    binding = f'RoleBinding "{grant.binding}/{grant.namespace}"' if grant.namespace else ""
    binding = binding or f'ClusterRoleBinding "{grant.binding}"'
    return f'RBAC: allowed by {binding} of {grant.role_kind} "{grant.role}" to {grant.subject}'


def allows(rule: Json, asked: Question) -> bool:
    """Whether one rule covers the question."""
    verbs = rule.get("verbs") or []
    if asked.verb not in verbs and "*" not in verbs:
        return False
    if asked.path:
        return any(_path_matches(p, asked.path) for p in rule.get("nonResourceURLs") or [])
    groups = rule.get("apiGroups") or []
    if asked.group not in groups and "*" not in groups:
        return False
    if not _resource_matches(rule.get("resources") or [], asked.resource):
        return False
    named = rule.get("resourceNames") or []
    return not named or asked.name in named


def _path_matches(pattern: str, path: str) -> bool:
    if pattern == "*":
        return True
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def _resource_matches(resources: list[str], asked: str) -> bool:
    if "*" in resources or asked in resources:
        return True
    _, slash, sub = asked.partition("/")
    return bool(slash) and f"*/{sub}" in resources


def refuse(user: User, asked: Question) -> status.ApiError:
    """The 403 for a question that was decided against the user."""
    if asked.path:
        return status.forbidden_path(user.name, asked.verb, asked.path)
    place = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    why = (
        f"User {status.quote(user.name)} cannot {asked.verb} resource {status.quote(asked.resource)} "
        f"in API group {status.quote(asked.group)} {place}"
    )
    return status.forbidden(asked.group, asked.resource.split("/")[0], asked.name, why)


def covered(rules: list[Json], wanted: Json) -> bool:
    """Whether *rules* together hold everything the rule *wanted* would give."""
    for verb in wanted.get("verbs") or []:
        for path in wanted.get("nonResourceURLs") or []:
            if not any(allows(r, Question(verb, path=path)) for r in rules):
                return False
        for group in wanted.get("apiGroups") or []:
            for resource in wanted.get("resources") or []:
                for name in wanted.get("resourceNames") or [""]:
                    asked = Question(verb, group, resource, name=name)
                    if not any(allows(r, asked) for r in rules):
                        return False
    return True


def check_escalation(
    _cluster: Cluster, authorizer: Authorizer, user: User, target: str, document: Json
) -> None:
    """Nobody grants by a role or binding what they do not hold themselves. Raises 403.

    target: the resource written: one of the four of this group.
    """
    if user.is_admin or target not in _WATCHED:
        return
    namespace = document["metadata"].get("namespace", "")
    plural = target.split(".", maxsplit=1)[0]
    if target in (ROLES, CLUSTER_ROLES):
        wanted, right, named = document.get("rules") or [], "escalate", document["metadata"].get("name", "")
    else:
        ref = document.get("roleRef") or {}
        wanted, right, named = authorizer.role_rules(ref, namespace), "bind", ref.get("name", "")
        plural_asked = "roles" if ref.get("kind") == "Role" else "clusterroles"
        if authorizer.decide(user, Question(right, _GROUP, plural_asked, namespace, named)).allowed:
            return
    if (
        right == "escalate"
        and authorizer.decide(user, Question(right, _GROUP, plural, namespace, named)).allowed
    ):
        return
    held = authorizer.rules(user, namespace)
    lacking = [rule for rule in wanted if not covered(held, rule)]
    if lacking:
        groups = " ".join(status.quote(g) for g in user.groups)
        shown = "\n".join(_go_rule(rule) for rule in lacking)
        why = (
            f"user {status.quote(user.name)} (groups=[{groups}]) is attempting to grant RBAC permissions "
            f"not currently held:\n{shown}"
        )
        raise status.forbidden(_GROUP, plural, document["metadata"].get("name", ""), why)


def _go_rule(rule: Json) -> str:
    names = (
        ("apiGroups", "APIGroups"), ("resources", "Resources"), ("resourceNames", "ResourceNames"),
        ("nonResourceURLs", "NonResourceURLs"), ("verbs", "Verbs"),
    )  # fmt: skip
    parts = [
        f"{said}:[{' '.join(status.quote(v) for v in rule[field])}]"
        for field, said in names
        if rule.get(field)
    ]
    return "{" + ", ".join(parts) + "}"
