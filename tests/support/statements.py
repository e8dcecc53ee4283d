"""SQL of small jobs: one that does not end, one that ends after a second, one that fails."""

from __future__ import annotations

DICE = "CREATE TABLE dice (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10')"
COUNT = (
    "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10',"
    " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '9')"
)
SINK = "CREATE TABLE sink (n BIGINT) WITH ('connector' = 'blackhole')"
ENDLESS = (DICE, SINK, "INSERT INTO sink SELECT n FROM dice")
BOUNDED = (COUNT, SINK, "INSERT INTO sink SELECT n FROM numbers")
FAILING = (COUNT, SINK, "INSERT INTO sink SELECT 1 / (5 - n) FROM numbers")
