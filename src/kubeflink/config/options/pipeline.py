"""Options of Flink, family pipeline."""

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

NAME = option("pipeline.name", STRING)
JARS = option("pipeline.jars", STRINGS)
CLASSPATHS = option("pipeline.classpaths", STRINGS)
AUTO_GENERATE_UIDS = option("pipeline.auto-generate-uids", BOOLEAN, True)
AUTO_WATERMARK_INTERVAL = option(
    "pipeline.auto-watermark-interval", DURATION, timedelta(milliseconds=200)
)
CLOSURE_CLEANER_LEVEL = option(
    "pipeline.closure-cleaner-level", ENUM, "RECURSIVE", choices=("NONE", "TOP_LEVEL", "RECURSIVE")
)
FORCE_AVRO = option("pipeline.force-avro", BOOLEAN, False)
FORCE_KRYO = option("pipeline.force-kryo", BOOLEAN, False)
FORCE_KRYO_AVRO = option("pipeline.force-kryo-avro", BOOLEAN, since=(1, 20))
GENERIC_TYPES = option("pipeline.generic-types", BOOLEAN, True)
GLOBAL_JOB_PARAMETERS = option("pipeline.global-job-parameters", MAP)
JOBVERTEX_PARALLELISM_OVERRIDES = option("pipeline.jobvertex-parallelism-overrides", MAP, NO_PAIRS)
MAX_PARALLELISM = option("pipeline.max-parallelism", INTEGER, -1)
OBJECT_REUSE = option("pipeline.object-reuse", BOOLEAN, False)
SERIALIZATION_CONFIG = option("pipeline.serialization-config", STRINGS, since=(1, 19))
OPERATOR_CHAINING_ENABLED = option(
    "pipeline.operator-chaining.enabled",
    BOOLEAN,
    True,
    deprecated_keys=("pipeline.operator-chaining",),
    since=(1, 18),
)
OPERATOR_CHAINING_CHAIN_OPERATORS_WITH_DIFFERENT_MAX_PARALLELISM = option(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    BOOLEAN,
    True,
    since=(1, 18),
)
CACHED_FILES = option("pipeline.cached-files", STRINGS)
VERTEX_DESCRIPTION_MODE = option(
    "pipeline.vertex-description-mode", ENUM, "TREE", choices=("TREE", "CASCADING")
)
VERTEX_NAME_INCLUDE_INDEX_PREFIX = option(
    "pipeline.vertex-name-include-index-prefix", BOOLEAN, False
)
WATERMARK_ALIGNMENT_ALLOW_UNALIGNED_SOURCE_SPLITS = option(
    "pipeline.watermark-alignment.allow-unaligned-source-splits", BOOLEAN, False
)
WATERMARK_ALIGNMENT_BUFFER_SIZE = option(
    "pipeline.watermark-alignment.buffer-size", INTEGER, 3, since=(2, 3)
)
AUTO_TYPE_REGISTRATION = option(
    "pipeline.auto-type-registration", BOOLEAN, True, until=(1, 20), deprecated_since=(1, 18)
)
DEFAULT_KRYO_SERIALIZERS = option(
    "pipeline.default-kryo-serializers", STRINGS, until=(1, 20), deprecated_since=(1, 19)
)
REGISTERED_KRYO_TYPES = option(
    "pipeline.registered-kryo-types", STRINGS, until=(1, 20), deprecated_since=(1, 19)
)
REGISTERED_POJO_TYPES = option(
    "pipeline.registered-pojo-types", STRINGS, until=(1, 20), deprecated_since=(1, 19)
)
OPERATOR_CHAINING = option("pipeline.operator-chaining", BOOLEAN, True, until=(1, 17))
