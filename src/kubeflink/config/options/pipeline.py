"""Options of jobs (`PipelineOptions`)."""

from __future__ import annotations

from datetime import timedelta

from kubeflink.config.options.kinds import (
    BOOLEAN,
    DURATION,
    ENUM,
    INTEGER,
    MAP,
    NO_PAIRS,
    STRING,
    STRINGS,
)
from kubeflink.config.options.option import option

NAME = option("pipeline.name", STRING, about="Name of the job.")
JARS = option("pipeline.jars", STRINGS, about="Jars of the job, separated by semicolons.")
CLASSPATHS = option(
    "pipeline.classpaths",
    STRINGS,
    about="Further entries of the job's class path, separated by semicolons.",
)
AUTO_GENERATE_UIDS = option(
    "pipeline.auto-generate-uids",
    BOOLEAN,
    True,
    about="Whether operators without a uid get one by themselves.",
)
AUTO_WATERMARK_INTERVAL = option(
    "pipeline.auto-watermark-interval",
    DURATION,
    timedelta(milliseconds=200),
    about="How often watermarks are made.",
)
CLOSURE_CLEANER_LEVEL = option(
    "pipeline.closure-cleaner-level",
    ENUM,
    "RECURSIVE",
    choices=("NONE", "TOP_LEVEL", "RECURSIVE"),
    about="How far functions are freed from references that they do not need.",
)
FORCE_AVRO = option(
    "pipeline.force-avro", BOOLEAN, False, about="Whether POJOs are serialised by Avro."
)
FORCE_KRYO = option(
    "pipeline.force-kryo", BOOLEAN, False, about="Whether POJOs are serialised by Kryo."
)
FORCE_KRYO_AVRO = option(
    "pipeline.force-kryo-avro",
    BOOLEAN,
    since=(1, 20),
    about="Whether Avro types are serialised by Kryo.",
)
GENERIC_TYPES = option(
    "pipeline.generic-types",
    BOOLEAN,
    True,
    about="Whether types that only Kryo can serialise are allowed.",
)
GLOBAL_JOB_PARAMETERS = option(
    "pipeline.global-job-parameters",
    MAP,
    about="Parameters that all functions of the job can read: key:value,key:value.",
)
JOBVERTEX_PARALLELISM_OVERRIDES = option(
    "pipeline.jobvertex-parallelism-overrides",
    MAP,
    NO_PAIRS,
    about="Parallelism of single parts of the job: id:parallelism,id:parallelism.",
)
MAX_PARALLELISM = option(
    "pipeline.max-parallelism",
    INTEGER,
    -1,
    about="Parallelism that the job can be scaled to later.",
)
OBJECT_REUSE = option(
    "pipeline.object-reuse",
    BOOLEAN,
    False,
    about="Whether chained operators pass objects on without copying them.",
)
SERIALIZATION_CONFIG = option(
    "pipeline.serialization-config",
    STRINGS,
    since=(1, 19),
    about="Which serialiser is used for which class.",
)
OPERATOR_CHAINING_ENABLED = option(
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("pipeline.operator-chaining",),
    since=(1, 18),
    about="Whether operators that can are run in one thread.",
)
OPERATOR_CHAINING_CHAIN_OPERATORS_WITH_DIFFERENT_MAX_PARALLELISM = option(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    BOOLEAN,
    True,
    since=(1, 18),
    about="Whether operators of different maximal parallelism are run in one thread, too.",
)
CACHED_FILES = option(
    "pipeline.cached-files",
    STRINGS,
    about=(
        "Files that are handed to all TaskManagers: name:n,path:p. Several are separated by "
        "semicolons."
    ),
)
VERTEX_DESCRIPTION_MODE = option(
    "pipeline.vertex-description-mode",
    ENUM,
    "TREE",
    choices=("TREE", "CASCADING"),
    about="How the web UI describes a chain of operators: as a tree, or in one line.",
)
VERTEX_NAME_INCLUDE_INDEX_PREFIX = option(
    "pipeline.vertex-name-include-index-prefix",
    BOOLEAN,
    False,
    about="Whether names of operators start with their number in the graph.",
)
WATERMARK_ALIGNMENT_ALLOW_UNALIGNED_SOURCE_SPLITS = option(
    "pipeline.watermark-alignment.allow-unaligned-source-splits",
    BOOLEAN,
    False,
    about="Whether sources that cannot pause single splits may be aligned.",
)
WATERMARK_ALIGNMENT_BUFFER_SIZE = option(
    "pipeline.watermark-alignment.buffer-size",
    INTEGER,
    3,
    since=(2, 3),
    about="Records that a source may be ahead when watermarks are aligned.",
)
AUTO_TYPE_REGISTRATION = option(
    "pipeline.auto-type-registration",
    BOOLEAN,
    True,
    until=(1, 20),
    deprecated_since=(1, 18),
    about="Whether types are registered with Kryo by themselves.",
)
DEFAULT_KRYO_SERIALIZERS = option(
    "pipeline.default-kryo-serializers",
    STRINGS,
    until=(1, 20),
    deprecated_since=(1, 19),
    about=("Kryo serialisers by class: class:c,serializer:s. Several are separated by semicolons."),
)
REGISTERED_KRYO_TYPES = option(
    "pipeline.registered-kryo-types",
    STRINGS,
    until=(1, 20),
    deprecated_since=(1, 19),
    about="Classes that are registered with Kryo.",
)
REGISTERED_POJO_TYPES = option(
    "pipeline.registered-pojo-types",
    STRINGS,
    until=(1, 20),
    deprecated_since=(1, 19),
    about="Classes that are registered as POJOs.",
)
OPERATOR_CHAINING = option(
    "pipeline.operator-chaining",
    BOOLEAN,
    True,
    until=(1, 17),
    about="Whether operators that can are run in one thread; the older name.",
)
