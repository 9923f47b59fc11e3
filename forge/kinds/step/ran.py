"""Steps that run a command of this machine: exec and helm. Argument lists only; nothing secret is in them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping

from forge.errors import ForgeError, OperationFailed, ToolMissing
from forge.kinds.step.applied import failed
from forge.kinds.step.work import Done, Work
from forge.plan.kind import Intent, Site
from forge.plan.lab_ports import Access, Ran, Release
from forge.spec.steps import ExecStep, HelmStep

_VALUES = "{values}"


def exec_(work: Work, step: ExecStep) -> Done:
    """In the folder of forge.yaml, with every cluster of the lab in reach as `kind-<prefix>-<name>`, the
    step's own as the current one."""
    argv = tuple(_word(work, word, index) for index, word in enumerate(step.command))
    env = {"FORGE_CLUSTER": work.cluster, **step.env}
    ran = work.site.tools.run(
        argv,
        env=env,
        contexts=_contexts(work),
        secrets=(*step.env.values(), *_secrets(work)),
        progress=work.site.progress,
        cancel=work.until,
    )
    if ran.exit_code:
        raise failed(work.name, step.command[0], ran.exit_code, ran.lines)
    return Done()


def _word(work: Work, word: str, index: int) -> str:
    """A path below the folder stays as it is, since that is where the command runs; one that climbs out
    of spec.root is refused."""
    if ".." in word.split("/") and not word.startswith("-") and "://" not in word:
        work.files.path(word)
    if index == 0 and "/" in word and not word.startswith("/"):
        return str(work.files.path(word))
    return word


def _contexts(work: Work) -> Mapping[str, Access]:
    """By context name, the step's own cluster first; one that does not stand now is left out."""
    found: dict[str, Access] = {}
    for cluster, context in work.resource.contexts.items():
        try:
            found[context] = work.site.clusters.access(cluster)
        except OperationFailed:
            if cluster == work.cluster:
                raise
    return found


def _secrets(work: Work) -> Iterator[str]:
    """Every generated secret as it might be printed."""
    known = work.leaf.scope.get("secrets")
    for name in known if isinstance(known, Mapping) else ():
        try:
            value = work.site.material.read_secret(str(name))
        except ForgeError:
            continue
        yield value.decode("utf-8", "replace").strip()
        yield b64encode(value).decode()
        yield value.hex()


def helm(work: Work, step: HelmStep) -> Done:
    """`helm upgrade --install`; the values go by a private file, since they may hold what argv must not. A
    release that was there before Forge is changed and never becomes Forge's."""
    import yaml

    release = Release(step.namespace or "", step.release)
    ours = release in work.site.known or not _is_installed(work, release)
    releases = (release,) if ours else ()
    work.site.intend(Intent(work.identity, releases=releases))
    argv = ["helm", "upgrade", "--install", step.release, _chart(work, step.chart), "--version", step.version]
    if step.namespace:
        argv += ["--namespace", step.namespace, "--create-namespace"]
    values = yaml.safe_dump(_plain(step.values)).encode()
    ran = work.site.tools.run(
        [*argv, "--values", _VALUES],
        files={_VALUES: values},
        contexts=_contexts(work),
        secrets=tuple(_secrets(work)),
        progress=work.site.progress,
        cancel=work.until,
    )
    if ran.exit_code:
        raise failed(work.name, f"helm upgrade {step.release}", ran.exit_code, ran.lines)
    return Done(releases=releases)


def _is_installed(work: Work, release: Release) -> bool:
    """Whether helm knows it already. Raises FG0740 where helm cannot say."""
    argv = ("helm", "status", release.name, *_in(release))
    ran = work.site.tools.run(argv, contexts=_contexts(work), progress=lambda _: None, cancel=work.until)
    if ran.exit_code and not _is_unknown(ran):
        raise failed(work.name, f"helm status {release.name}", ran.exit_code, ran.lines)
    return ran.exit_code == 0


def uninstall(releases: Iterable[Release], cluster: str, site: Site) -> None:
    """Takes away what helm installed, and waits for it. What is gone is a success. Raises ToolMissing FG0741
    without helm, OperationFailed FG0740 with what it says."""
    for release in releases:
        where = f"{release.namespace}/{release.name}" if release.namespace else release.name
        if site.tools.find("helm") is None:
            raise _no_helm(where, cluster)
        site.progress(f"uninstalling helm release {where}")
        ran = site.tools.run(
            ("helm", "uninstall", release.name, *_in(release), "--wait"),
            contexts={"lab": site.clusters.access(cluster)},
            progress=site.progress,
            cancel=site.cancel,
        )
        if ran.exit_code and not _is_unknown(ran):
            name = f"release {where} of cluster {cluster}"
            raise failed(name, f"helm uninstall {release.name}", ran.exit_code, ran.lines)


def _in(release: Release) -> tuple[str, ...]:
    return ("--namespace", release.namespace) if release.namespace else ()


def _is_unknown(ran: Ran) -> bool:
    """helm's words for a release that is not there; its exit code is that of every failure."""
    return any("release: not found" in line.lower() for line in ran.lines)


def _no_helm(where: str, cluster: str) -> ToolMissing:
    return ToolMissing(
        "FG0741",
        f"helm release {where} of cluster {cluster} cannot be uninstalled",
        why="helm installed it, and the command 'helm' is not on PATH any more",
        hint="install helm, then run it again",
        changed=False,
    )


def _chart(work: Work, chart: str) -> str:
    """A folder below forge.yaml's is a path; everything else is helm's to find."""
    if "://" not in chart and not chart.startswith("/") and work.files.exists(chart):
        return str(work.files.path(chart))
    return chart


def _plain(value: object) -> object:
    """Frozen mappings and tuples as YAML writes them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, (list, tuple)) else value
