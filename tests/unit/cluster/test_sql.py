"""Scripts are cut where Flink's own SQL client would cut them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.cluster.sql import (
    Statement,
    runnable_script,
    runnable_statements,
    split_script,
)
from kubeflink.errors import UsageError


def test_semicolons_in_strings_names_and_comments_do_not_end_a_statement() -> None:
    script = (
        "SET 'a' = 'x;y'; -- a comment; with a semicolon\n"
        "/* and; another */\n"
        "CREATE TABLE `odd;name` (v STRING)\n  WITH ('path' = 'it''s;here');\n\n"
        "INSERT INTO t SELECT /*+ OPTIONS('k'=';') */ a - b / c FROM s"
    )

    assert split_script(script) == [
        Statement("SET 'a' = 'x;y'", 1, 1, 1),
        Statement("CREATE TABLE `odd;name` (v STRING)\n  WITH ('path' = 'it''s;here')", 3, 1, 2),
        Statement("INSERT INTO t SELECT /*+ OPTIONS('k'=';') */ a - b / c FROM s", 6, 1, 3),
    ]


_QUOTED = st.text("ab;'`-/*\n", max_size=8).map(lambda s: "'" + s.replace("'", "''") + "'")


@given(st.lists(st.lists(_QUOTED, min_size=1, max_size=3), max_size=4))
def test_statements_survive_joining_and_splitting(statements: list[list[str]]) -> None:
    texts = ["SELECT " + " , ".join(parts) for parts in statements]

    assert [s.text for s in split_script(";\n".join(texts))] == texts


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("SELECT 1;\nSELECT 'abc", "line 2: a string begins here"),
        ("/* x", "line 1: a comment begins here"),
        ("INSERT INTO `t", "line 1: a quoted name begins here"),
        ("CREATE TABLE t (a INT);\n\nSELECT * FROM t", "line 3: SELECT gives a result"),
        ("SET 'a' = 'b';", "no INSERT"),
        ("", "no INSERT"),
    ],
)
def test_what_cannot_run_as_a_job_is_refused_with_its_line(script: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        runnable_script(script)


def test_statement_sets_are_opened_up() -> None:
    script = (
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;"
        "BEGIN STATEMENT SET; INSERT INTO c SELECT 3; END; EXECUTE INSERT INTO d SELECT 4;"
    )

    assert runnable_script(script) == [
        "INSERT INTO a SELECT 1",
        "INSERT INTO b SELECT 2",
        "INSERT INTO c SELECT 3",
        "INSERT INTO d SELECT 4",
    ]


def test_places_survive_comments_statement_sets_and_neighbours() -> None:
    script = (
        "-- two; lines\n/* of\n comments */ SET 'a' = 'b'; EXECUTE STATEMENT SET\n BEGIN"
        " INSERT INTO a SELECT 1 -- one\n, /* some */ 2; INSERT INTO b\nSELECT 3; END;"
    )

    found = runnable_statements(script)

    assert found == [
        Statement("SET 'a' = 'b'", 3, 14, 1),
        Statement("INSERT INTO a SELECT 1       \n,            2", 4, 8, 2),
        Statement("INSERT INTO b\nSELECT 3", 5, 17, 3),
    ]
    lines = script.split("\n")
    for statement in found:
        line, column = statement.place(1, 8)
        assert lines[line - 1][column - 1 :].startswith(statement.text[7:13])
    assert found[1].place(2, 14) == (5, 14)


def test_a_table_made_from_a_query_is_a_job_too() -> None:
    script = "CREATE TABLE t WITH ('connector' = 'blackhole') AS SELECT a FROM s"

    assert runnable_script(script) == [script]


def test_words_of_statement_sets_inside_of_statements_stay() -> None:
    table = "CREATE TABLE t (n BIGINT) WITH ('fields.n.end' = '9', 'begin' = 'x')"

    assert runnable_script(f"{table}; INSERT INTO s SELECT n FROM t;")[0] == table
