"""Steps that run a command of this machine: exec and helm. Argument lists only; nothing secret is in them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping

from forge.errors import ForgeError, OperationFailed
from forge.kinds.step.applied import failed
from forge.kinds.step.work import Done, Work
from forge.plan.lab_ports import Access
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
    """`helm upgrade --install`; the values go by a private file, since they may hold what argv must not."""
    import yaml

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
    return Done()


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
