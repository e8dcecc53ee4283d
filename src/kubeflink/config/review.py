"""A look at a whole configuration before anything is sent.

What is certainly wrong is refused: a value that its option cannot have, and keys of which one is
the start of another. What may be a mistake becomes a notice: an option that does not exist, a
secret that everybody can read, shell text, a toleration of everything, an image of another version.
Keys that are not Flink's pass in silence, because connectors and reporters have their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kubeflink.config.configuration import PROGRAM, Configuration, check_flat
from kubeflink.config.nesting import check_nesting
from kubeflink.config.options.catalogue import declared, find, first_words, nearest, undeclared_keys
from kubeflink.config.options.option import Option
from kubeflink.config.renaming import rename_conflicting_keys
from kubeflink.config.secrets import is_secret
from kubeflink.config.values import text_of
from kubeflink.config.versions import FLINK_CONF_YAML, version_of_image
from kubeflink.errors import ConfigurationError

Check = Callable[[Configuration], Iterator[str]]


def review(configuration: Configuration, *, strict: bool = False) -> Configuration:
    """The configuration to work with, with notices added.

    Raises `ConfigurationError` for what is certainly wrong; with `strict` also for misspelt keys.
    """
    configuration = rename_conflicting_keys(configuration)
    if configuration.file_name != FLINK_CONF_YAML:
        check_nesting(configuration)
    else:
        _check_flat(configuration)
    _check_values(configuration)
    misspelt = list(_misspelt(configuration))
    if strict and misspelt:
        raise ConfigurationError("\n".join(misspelt))
    notices = [notice for check in CHECKS for notice in check(configuration)]
    return configuration.with_notices(*misspelt, *notices)


# --- refusals ---


def _check_values(configuration: Configuration) -> None:
    """Read every known option once, so that a bad value is found before the first request."""
    for key in configuration:
        option = find(key, configuration.version)
        if option is not None:
            configuration.check(key, option)


def _check_flat(configuration: Configuration) -> None:
    """What `flink-conf.yaml` cannot hold: its reader knows neither quotes nor line breaks."""
    for key, entry in configuration.entries():
        check_flat(key, text_of(entry.value), entry.origin)


# --- keys that do not exist ---

_OF_OTHER_TOOLS: Mapping[str, str] = {
    "kubernetes.jobmanager.env.": "environment variables are set by containerized.master.env.NAME",
    "kubernetes.taskmanager.env.": (
        "environment variables are set by containerized.taskmanager.env.NAME"
    ),
    "kubernetes.operator.": "it belongs to the Flink Kubernetes Operator and has no effect here",
    "job.autoscaler.": "it belongs to the Flink Kubernetes Operator and has no effect here",
    "jobmanager.replicas": "the number of JobManagers is kubernetes.jobmanager.replicas",
    "taskmanager.replicas": (
        "TaskManagers come and go with the jobs; slotmanager.number-of-slots.min keeps some"
    ),
    "kubernetes.taskmanager.replicas": (
        "TaskManagers come and go with the jobs; slotmanager.number-of-slots.min keeps some"
    ),
    "kubernetes.pod.template": "the pod template is kubernetes.pod-template-file.default",
    "kubernetes.jobmanager.memory": "the JobManager's memory is jobmanager.memory.process.size",
    "kubernetes.taskmanager.memory": "a TaskManager's memory is taskmanager.memory.process.size",
    "kubernetes.service.exposed.type": "it is kubernetes.rest-service.exposed.type",
    "kubernetes.cluster.id": "it is kubernetes.cluster-id",
    "kubernetes.image": "the image is kubernetes.container.image.ref",
}
"""Keys of other tools and of habit, or the start of such keys, and what there is instead."""


def _misspelt(configuration: Configuration) -> Iterator[str]:
    """Keys that Flink does not know although it should: one sentence each."""
    for key, entry in configuration.entries():
        if entry.origin == PROGRAM or find(key, configuration.version) is not None:
            continue
        sentence = _unknown(key, configuration)
        if sentence is not None:
            where = "" if entry.origin == "-D" else f" ({entry.origin})"
            yield f"{key}: no option of Flink {configuration.version}; {sentence}{where}"


def _unknown(key: str, configuration: Configuration) -> str | None:
    """What to say about a key that is no option in this version; None if it may be right."""
    for start, sentence in _OF_OTHER_TOOLS.items():
        if key == start or (start.endswith(".") and key.startswith(start)):
            return sentence
    elsewhere = declared(key)
    if elsewhere is not None:
        return None  # an option of another version: see `_of_other_versions`
    if _below_a_map(key, configuration) or key in undeclared_keys():
        return None
    first = key.partition(".")[0]
    if first not in first_words():
        return None
    near = nearest(key, configuration.version)
    if near is not None:
        return f"did you mean {near}?"
    return "it has no effect" if first == "kubernetes" else None


def _below_a_map(key: str, configuration: Configuration) -> bool:
    """Whether a key is an entry of a map in nested form: `kubernetes.jobmanager.labels.a`."""
    prefix, separator, _ = key.rpartition(".")
    while separator:
        option = find(prefix, configuration.version)
        if option is not None and option.kind.is_map:
            return True
        prefix, separator, _ = prefix.rpartition(".")
    return False


def _of_other_versions(configuration: Configuration) -> Iterator[str]:
    version = configuration.version
    for key in configuration:
        option = declared(key)
        if option is None or find(key, version) is not None:
            continue
        yield f"{key} has no effect: Flink {version} does not have it ({_life(option)})"


def _life(option: Option[Any]) -> str:
    if option.since is not None and option.until is not None:
        return f"{_release(option.since)} to {_release(option.until)} do"
    if option.since is not None:
        return f"it came with {_release(option.since)}"
    return f"the last with it was {_release(option.until or (0, 0))}"


def _release(release: tuple[int, int]) -> str:
    return f"{release[0]}.{release[1]}"


# --- things to know ---


def _secrets(configuration: Configuration) -> Iterator[str]:
    for key, entry in configuration.entries():
        if is_secret(key) and entry.origin != PROGRAM:
            place = "on the command line and " if entry.origin == "-D" else ""
            yield (
                f"{key} can be read {place}in the cluster's ConfigMap; "
                "kubernetes.env.secretKeyRef and kubernetes.secrets take it from a Secret"
            )


def _shell_text(configuration: Configuration) -> Iterator[str]:
    for role in ("jobmanager", "taskmanager"):
        key = f"kubernetes.{role}.entrypoint.args"
        text = configuration.text(key) or ""
        if any(character in text for character in "$`;&|<>()\n*?\\\"'"):
            yield f"{key} is shell text: it goes into the start command as it is, unquoted"


_TOLERATION_FIELDS = frozenset({"key", "operator", "value", "effect", "tolerationSeconds"})


def _tolerations(configuration: Configuration) -> Iterator[str]:
    from kubeflink.config.options import kubernetes

    for option in (kubernetes.JOBMANAGER_TOLERATIONS, kubernetes.TASKMANAGER_TOLERATIONS):
        for toleration in configuration.get(option) or ():
            for field in toleration.keys() - _TOLERATION_FIELDS:
                yield f"{option.key}: a toleration has no {field!r}; it is left out"
            if not toleration.get("key"):
                yield _without_key(option.key, toleration)


def _without_key(key: str, toleration: Mapping[str, str]) -> str:
    if toleration.get("operator") != "Exists":
        return f"{key}: a toleration without a key needs operator:Exists; Kubernetes refuses it"
    effect = toleration.get("effect")
    what = f"every taint with effect {effect}" if effect else "every taint of every node"
    return f"{key}: a toleration without a key tolerates {what}"


def _image_version(configuration: Configuration) -> Iterator[str]:
    from kubeflink.config.options import kubernetes

    image = configuration.get(kubernetes.CONTAINER_IMAGE_REF)
    tagged = version_of_image(image)
    if tagged is not None and tagged.release != configuration.version.release:
        yield (
            f"the image {image} looks like Flink {tagged}, but Flink {configuration.version} is "
            f"imitated; --flink-version {_release(tagged.release)} imitates that one"
        )


def _cut_in_the_pod(configuration: Configuration) -> Iterator[str]:
    """A `#` that Flink's reader in the pod will take for a comment."""
    if configuration.file_name != FLINK_CONF_YAML:
        return
    for key, value in configuration.items():
        if isinstance(value, str) and "#" in value:
            yield f"{key}: {FLINK_CONF_YAML} cannot hold #; Flink in the pods cuts the value there"


CHECKS: tuple[Check, ...] = (
    _of_other_versions,
    _secrets,
    _shell_text,
    _tolerations,
    _image_version,
    _cut_in_the_pod,
)
