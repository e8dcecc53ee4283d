"""The Flink versions whose behaviour kubeflink imitates, and what differs between them.

Flink's native Kubernetes integration changes with minor versions. Everything that depends on the
version is a named property here, so that the code that builds objects reads as the behaviour and
not as a comparison of numbers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kubeflink.errors import ConfigurationError

_VERSION = r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?"
# Anything that has a version in an image tag: `1.20.5-scala_2.12-java17`, `my-2.3`, `v1.20`.
_IN_TAG = r"(?<![\d.])v?(\d{1,2})\.(\d{1,2})(?:\.(\d{1,3}))?(?!\d)"


class FlinkVersion(NamedTuple):
    """A released version of Flink; patch levels of one minor version behave alike."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: str) -> FlinkVersion:
        """Read `2.3` (the patch level that was recorded) or `2.3.1`.

        Raises `ConfigurationError` for anything else and for versions that are not supported.
        """
        match = re.fullmatch(_VERSION, text.strip(), re.ASCII)
        if match is None:
            raise ConfigurationError(f"{text!r} is no Flink version", hint=_supported_hint())
        release = (int(match[1]), int(match[2]))
        for version in SUPPORTED:
            if version.release == release:
                return version if match[3] is None else cls(*release, int(match[3]))
        raise ConfigurationError(f"Flink {text} is not supported", hint=_supported_hint())

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor version: what behaviour depends on."""
        return self.major, self.minor

    def _from(self, major: int, minor: int) -> bool:
        return self.release >= (major, minor)

    # --- configuration ---

    @property
    def configuration_file(self) -> str:
        """The name under which the configuration is read and shipped."""
        return CONFIG_YAML if self._from(1, 19) else FLINK_CONF_YAML

    @property
    def accepts_legacy_configuration_file(self) -> bool:
        """Whether a `flink-conf.yaml` is read."""
        return not self._from(2, 0)

    @property
    def milliseconds_are_durations(self) -> bool:
        """Whether options that once were a number of milliseconds take a duration (1.20)."""
        return self._from(1, 20)

    @property
    def reads_iso_durations(self) -> bool:
        """Whether `PT10S` is a duration, and whether durations have no upper limit (2.1)."""
        return self._from(2, 1)

    # --- objects ---

    @property
    def default_image(self) -> str:
        """The image that is used where none is configured."""
        return f"apache/flink:{self}-scala_2.12"

    @property
    def sends_empty_mappings(self) -> bool:
        """Whether empty `annotations` and `nodeSelector` are sent (1.17)."""
        return not self._from(1, 18)

    @property
    def sorts_accompanying_objects_by_kind(self) -> bool:
        """Whether accompanying objects are posted in the order of their kinds (1.17)."""
        return not self._from(1, 18)

    @property
    def orphan_dependents_flag(self) -> bool:
        """Whether deletion sends `orphanDependents` instead of a propagation policy (1.17)."""
        return not self._from(1, 18)

    @property
    def reads_yaml_11_templates(self) -> bool:
        """Whether pod templates are read by YAML 1.1, in which `yes` is true (1.17)."""
        return not self._from(1, 18)

    @property
    def user_artifacts_volume(self) -> bool:
        """Whether the JobManager has an `emptyDir` for fetched artifacts (1.19)."""
        return self._from(1, 19)

    @property
    def has_internal_service_annotations(self) -> bool:
        """`kubernetes.internal-service.annotations` (1.20)."""
        return self._from(1, 20)

    @property
    def uploads_artifacts(self) -> bool:
        """`kubernetes.artifacts.local-upload-*` (1.20)."""
        return self._from(1, 20)

    @property
    def ships_all_logging_files(self) -> bool:
        """Whether all seven logging files of a distribution are shipped, not only two (2.1)."""
        return self._from(2, 1)

    @property
    def has_service_labels(self) -> bool:
        """`kubernetes.{rest,internal}-service.labels` (2.2)."""
        return self._from(2, 2)

    @property
    def has_persistent_volume_claims(self) -> bool:
        """`kubernetes.persistent-volume-claims` (2.3)."""
        return self._from(2, 3)

    @property
    def sets_taskmanager_java_home(self) -> bool:
        """Whether TaskManager containers get `env.java.home` as `JAVA_HOME` (2.0)."""
        return self._from(2, 0)

    @property
    def gives_workers_the_job_id(self) -> bool:
        """Whether TaskManagers of an application with high availability get its job id (1.17)."""
        return not self._from(1, 18)

    @property
    def runs_one_job_with_high_availability(self) -> bool:
        """Whether an application with high availability has one job, whose id follows from the
        cluster's (read in 1.17 and 1.20). 2.3 runs as many as the program has."""
        return not self._from(2, 0)

    @property
    def writes_empty_lists(self) -> bool:
        """Whether the client sets list options that have no elements (up to 1.20)."""
        return not self._from(2, 0)

    @property
    def names_state_recovery(self) -> bool:
        """Whether savepoints to start from are `execution.state-recovery.*` (1.20)."""
        return self._from(1, 20)

    @property
    def fetches_programs(self) -> bool:
        """Whether an application's program may be at a remote address (1.19)."""
        return self._from(1, 19)

    @property
    def runs_sql_applications(self) -> bool:
        """Whether an application's program may be a SQL script (`SqlDriver`, 2.0)."""
        return self._from(2, 0)

    # --- command line ---

    @property
    def application_action(self) -> str:
        """The action that deploys an application: `run-application`, or `run` from 2.0 on."""
        return "run" if self._from(2, 0) else "run-application"


CONFIG_YAML = "config.yaml"
FLINK_CONF_YAML = "flink-conf.yaml"

SUPPORTED: tuple[FlinkVersion, ...] = (
    FlinkVersion(1, 17, 2),
    FlinkVersion(1, 18, 1),
    FlinkVersion(1, 19, 3),
    FlinkVersion(1, 20, 5),
    FlinkVersion(2, 0, 2),
    FlinkVersion(2, 1, 3),
    FlinkVersion(2, 2, 1),
    FlinkVersion(2, 3, 0),
)
"""The recorded patch level of each minor version, oldest first."""

DEFAULT = SUPPORTED[-1]

VERSION_VARIABLE = "KUBEFLINK_FLINK_VERSION"
"""The environment variable that names the version to imitate."""


def _supported_hint() -> str:
    first, last = SUPPORTED[0], SUPPORTED[-1]
    minors = ", ".join(f"{version.major}.{version.minor}" for version in SUPPORTED)
    return f"Supported are {minors}, with any patch level (such as {first} or {last})."


def version_of_image(image: str) -> FlinkVersion | None:
    """The Flink version that an image's tag names, if it is a supported one.

    `flink:1.20`, `apache/flink:2.3.0-scala_2.12` and `registry:5000/team/flink:v1.18.1-3` have one;
    a digest, `latest` and a tag of other numbers have none. Only a tag is looked at, and of several
    numbers in it the first that is a supported Flink version counts.
    """
    name = image.split("@", 1)[0].rsplit("/", 1)[-1]
    _, separator, tag = name.partition(":")
    if not separator:
        return None
    recorded = {version.release: version for version in SUPPORTED}
    for match in re.finditer(_IN_TAG, tag, re.ASCII):
        known = recorded.get((int(match[1]), int(match[2])))
        if known is not None:
            patch = known.patch if match[3] is None else int(match[3])
            return FlinkVersion(known.major, known.minor, patch)
    return None
