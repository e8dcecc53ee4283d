"""A statement that Flink refuses is told by its number, its text and its line in the script."""

from __future__ import annotations

import pytest

from kubeflink.cluster.session import SessionCluster
from kubeflink.cluster.sql_mistakes import cause_in_application, script_of_session
from kubeflink.errors import LocalError, RestStatusError, SqlError
from kubeflink.jvm.flink_command import ClientFailedError
from support.scripted_server import Answer, ScriptedServer

SCRIPT = """\
-- numbers; and where they go
/* two
   lines */
CREATE TABLE sink (n INT) WITH ('connector' = 'blackhole'); CREATE TABLE t (n INT) -- here
  WITH ('connector' = 'datagen');

BEGIN STATEMENT SET;
INSERT INTO sink
  SELECT n /* not
  m */ , 5
  FROM nowhere;
END;
"""

VALIDATION = "org.apache.flink.table.api.ValidationException: SQL validation failed."
CONTEXT = "org.apache.calcite.runtime.CalciteContextException:"
PARSER = "org.apache.flink.sql.parser.impl.ParseException:"
CUT_BY_FLINK = (
    "\tat org.apache.flink.table.gateway.service.application."
    "ScriptExecutor$ResultIterator.parse(ScriptExecutor.java:290)\n"
)


def missing(place: str, name: str = "nowhere") -> str:
    """The stack trace for a table that Flink does not find."""
    sentence = f"Object '{name}' not found"
    return (
        f"{VALIDATION} {place}: {sentence}\n\tat a.B.c(B.java:1)\n"
        f"Caused by: {CONTEXT} {place}: {sentence}\n\t... 22 more\n"
        f"Caused by: org.apache.calcite.sql.validate.SqlValidatorException: {sentence}\n"
    )


def refused(number: int, why: str) -> str:
    """What the runner's failure looks like, with its cause."""
    return (
        "org.apache.flink.runtime.rest.handler.RestHandlerException: Could not execute application."
        "\n\tat a.B.c(B.java:1)\n"
        "Caused by: org.apache.flink.client.program.ProgramInvocationException: The main method"
        f" caused an error: statement {number}\n\t... 4 more\n"
        f"Caused by: kubeflink.runner.StatementException: statement {number}\n"
        f"\tat kubeflink.runner.SqlRunner.main(Unknown Source)\n\t... 8 more\nCaused by: {why}"
    )


@pytest.mark.parametrize(
    ("number", "why", "message", "hint"),
    [
        (
            3,
            missing("From line 4, column 8 to line 4, column 14"),
            "a.sql, line 11, column 8: Object 'nowhere' not found",
            "This is in statement 4, which begins in line 8: INSERT INTO sink",
        ),
        (
            2,
            f'{PARSER} Encountered "n" at line 1, column 17.\nWas expecting one of:\n'
            '    "AS" ...\n    <EOF>\n    \n\tat a.B.c(B.java:1)\n',
            'a.sql, line 4, column 77: Encountered "n"',
            "This is in statement 2: CREATE TABLE t (n INT)",
        ),
        (
            2,
            f"{CONTEXT} At line 2, column 3: Unknown identifier 'datagen'\n",
            "a.sql, line 5, column 3: Unknown identifier 'datagen'",
            "This is in statement 2, which begins in line 4: CREATE TABLE t (n INT)",
        ),
        (
            1,
            "org.apache.flink.table.catalog.exceptions.CatalogException: No catalog [foo].\n",
            "a.sql, line 4: No catalog [foo]",
            "This is in statement 1: CREATE TABLE sink (n INT) WITH ('connector' = 'blackhole')",
        ),
    ],
    ids=["validation", "parser", "a later line", "no place"],
)
def test_the_place_of_a_mistake(number: int, why: str, message: str, hint: str) -> None:
    found = script_of_session(SCRIPT, "a.sql").mistake(refused(number, why))

    assert found is not None
    assert (found.message, found.hint) == (message, hint)
    assert found.exit_code == 1


@pytest.mark.parametrize(
    "why",
    [
        missing("From line 9, column 1 to line 9, column 7"),
        missing("From line 1, column 90 to line 1, column 97"),
        missing("From line 2, column 3 to line 2, column 9", "of_a_view"),
        "java.io.IOException: no number at line 2, column 3\n",
    ],
    ids=["too many lines", "too long a line", "a name of another text", "a place in data"],
)
def test_a_place_that_is_none_in_the_statement_is_not_told(why: str) -> None:
    found = script_of_session(SCRIPT, "a.sql").mistake(refused(3, why))

    assert found is not None
    assert (found.line, found.column, found.statement) == (8, None, 4)


def test_a_long_statement_is_shown_by_its_beginning() -> None:
    script = "INSERT INTO sink VALUES " + ", ".join(["(1)"] * 100)

    found = script_of_session(script, "a.sql").mistake(refused(1, "a.b.C: no\n"))

    assert found is not None
    assert str(found).endswith("(1), ( ...")
    assert all(len(line) < 160 for line in str(found).splitlines())


def refuse_to_run(flink_rest: ScriptedServer, trace: str) -> None:
    flink_rest.on("GET", "/jars", Answer(200, {"files": []}))
    flink_rest.on("POST", "/jars/upload", Answer(200, {"filename": "/tmp/u_runner.jar"}))
    flink_rest.on("POST", "/jars/u_runner.jar/run", Answer(400, {"errors": [trace]}))


async def test_a_session_job_that_is_refused(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trace = refused(3, missing("From line 4, column 8 to line 4, column 14"))
    refuse_to_run(flink_rest, trace)

    with pytest.raises(SqlError, match="the script, line 11, column 8: Object 'nowhere'"):
        await demo.submit_sql(SCRIPT)


async def test_a_failure_that_blames_no_statement_does_not_name_the_runner(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    trace = (
        "org.apache.flink.client.program.ProgramInvocationException: The main method caused an"
        ' error: For input\nCaused by: java.lang.NumberFormatException: For input string: "x"\n'
    )
    refuse_to_run(flink_rest, trace)

    with pytest.raises(RestStatusError) as caught:
        await demo.submit_sql(SCRIPT, source="a.sql")

    assert caught.value.message == 'a.sql failed: NumberFormatException: For input string: "x"'


async def test_a_refusal_that_is_none_of_the_script_is_passed_on(
    demo: SessionCluster, flink_rest: ScriptedServer
) -> None:
    """And is not its own cause, which whoever follows causes would follow for ever."""
    refuse_to_run(flink_rest, "org.apache.flink.util.FlinkException: not now\n")

    with pytest.raises(RestStatusError, match="not now") as caught:
        await demo.submit_sql(SCRIPT)

    assert caught.value.__cause__ is not caught.value


def test_a_refusal_of_flinks_client_on_this_side() -> None:
    script = script_of_session(SCRIPT, "a.sql")
    trace = refused(1, "a.b.C: no\n")
    other = LocalError("no Java")

    found = script.explained_here(ClientFailedError("no", trace))

    assert found.message == "a.sql, line 4: C: no"
    assert script.explained_here(other) is other


def test_the_places_of_an_application_are_those_of_its_script() -> None:
    """Flink cuts the script itself there, with blanks for what stands before a statement."""
    trace = missing("From line 11, column 8 to line 11, column 14") + CUT_BY_FLINK

    assert cause_in_application(SCRIPT, "a.sql", trace) == (
        "a.sql, line 11, column 8: Object 'nowhere' not found, in statement 4: INSERT INTO sink"
    )


@pytest.mark.parametrize(
    ("script", "trace"),
    [
        (SCRIPT, missing("From line 4, column 8 to line 4, column 14")),
        (SCRIPT, "java.lang.ArithmeticException: / by zero\n" + CUT_BY_FLINK),
        ("INSERT INTO a SELECT '", missing("From line 1, column 8") + CUT_BY_FLINK),
        (SCRIPT, missing("From line 1, column 1 to line 1, column 2") + CUT_BY_FLINK),
    ],
    ids=["cut by nobody", "no place", "a script that is no script", "before all statements"],
)
def test_what_is_no_mistake_in_an_application(script: str, trace: str) -> None:
    assert cause_in_application(script, "a.sql", trace) is None
