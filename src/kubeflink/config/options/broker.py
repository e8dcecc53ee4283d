"""Options of kubeflink's own: the broker between a JobManager and the Kubernetes API.

Flink does not know them and passes over them. They travel in the cluster's configuration file all
the same, because that is where the broker reads its limits.
"""

from __future__ import annotations

from kubeflink.config.options.kinds import BOOLEAN, DOUBLE, INTEGER, MEMORY, STRING
from kubeflink.config.options.option import option

PREFIX = "kubeflink.broker."
"""What all keys of this family begin with."""

ENABLED = option(
    "kubeflink.broker.enabled",
    BOOLEAN,
    False,
    about=(
        "Whether the JobManager gets its TaskManagers from a broker and has itself no right on the "
        "Kubernetes API."
    ),
)
IMAGE = option(
    "kubeflink.broker.image",
    STRING,
    about="Container image of the broker; kubeflink-broker with the version of kubeflink if unset.",
)
SERVICE_ACCOUNT = option(
    "kubeflink.broker.service-account",
    STRING,
    about=(
        "An existing service account for the broker; without one, an account is made together with "
        "the Role that it needs."
    ),
)
SELF_DELETION = option(
    "kubeflink.broker.self-deletion",
    BOOLEAN,
    about=(
        "Whether the JobManager may end its cluster, for which the broker needs the right to "
        "delete the Deployment. If unset, an application's may, and a session's may not."
    ),
)
CPU_AMOUNT = option(
    "kubeflink.broker.cpu.amount",
    DOUBLE,
    0.25,
    minimum=0.001,
    about="CPU cores that the broker's container asks for; it may use more.",
)
MEMORY_SIZE = option(
    "kubeflink.broker.memory.size",
    MEMORY,
    256 << 20,
    minimum=64 << 20,
    about="Memory of the broker's container.",
)
TASKMANAGER_API_ACCESS = option(
    "kubeflink.broker.taskmanager.api-access",
    BOOLEAN,
    False,
    about=(
        "Whether TaskManager pods get the token of their service account, as Flink gives it to "
        "them. Without it they are told to mount none."
    ),
)
LIMIT_PODS = option(
    "kubeflink.broker.limit.pods",
    INTEGER,
    1000,
    minimum=0,
    about="How many TaskManager pods there may be at a time.",
)
LIMIT_CPU = option(
    "kubeflink.broker.limit.cpu",
    DOUBLE,
    minimum=0,
    about="How many CPU cores all TaskManagers together may ask for; no limit of its own if unset.",
)
LIMIT_MEMORY = option(
    "kubeflink.broker.limit.memory",
    MEMORY,
    about="How much memory all TaskManagers together may ask for; no limit of its own if unset.",
)
LIMIT_PODS_PER_MINUTE = option(
    "kubeflink.broker.limit.pods-per-minute",
    INTEGER,
    1000,
    minimum=1,
    about=(
        "How many TaskManager pods may be made in a minute; a minute's worth may come at once. "
        "Further requests wait."
    ),
)
LIMIT_CONFIG_MAPS = option(
    "kubeflink.broker.limit.config-maps",
    INTEGER,
    1000,
    minimum=1,
    about="How many ConfigMaps of high availability there may be at a time.",
)
