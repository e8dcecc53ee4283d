"""Stack traces as one line."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflink.rest import java_errors


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("run-noclass", "The program's entry point class 'Nope' was not found in the jar file."),
        ("run-failmain", "IllegalStateException: no input given second line"),
        ("upload-notjar", "Only Jar files are allowed."),
        (
            "run-from-bad",
            "FileNotFoundException: Cannot find checkpoint or savepoint file/directory '/nope/sp' "
            "on file system 'file'.",
        ),
        ("run-fake", "ZipException: zip END header not found"),
        ("job-unknown", "Could not find Flink job (ffffffffffffffffffffffffffffffff)"),
    ],
)
def test_the_innermost_cause_of_what_flink_answered(
    recorded_bodies: dict[str, dict[str, Any]], name: str, expected: str
) -> None:
    text = recorded_bodies[name]["body"]["errors"][-1]

    assert java_errors.root_cause(text) == expected


def test_a_chain_is_outermost_first_with_whole_messages(
    recorded_bodies: dict[str, dict[str, Any]],
) -> None:
    text = recorded_bodies["run-failmain"]["body"]["errors"][-1]

    chain = java_errors.causes(text)

    assert chain[0].simple_name == "RestHandlerException"
    assert chain[-1].message == "no input given\nsecond line"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Unable to load requested file /nope.", "Unable to load requested file /nope."),
        ("java.lang.NullPointerException\n\tat A.b(A.java:1)\n", "NullPointerException"),
        (
            "java.lang.RuntimeException: told\n\tat A.b(A.java:1)\n"
            "Caused by: java.util.concurrent.TimeoutException: Invocation timed out\n",
            "RuntimeException: told",
        ),
        (
            "a.b.C: outer\n\tat A.b(A.java:1)\n\tSuppressed: x.y.Z: other\n\t\tat A.b(A.java:1)\n"
            "Caused by: a.b.Outer$Inner: inner\n\t... 3 more\n",
            "Inner: inner",
        ),
        (
            "java.lang.RuntimeException: Failed to close remote bundle\n\tat A.b(A.java:1)\n"
            "Caused by: java.lang.RuntimeException: Error received from SDK harness for"
            " instruction 1: Traceback (most recent call last):\n"
            '  File "job.py", line 3, in parse\n    int("x")\n    ~~~^^^^^\n'
            "ValueError: no number\n\n"
            "During handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\n"
            '  File "job.py", line 7, in greeting\n    raise Bad("first\\nsecond")\n'
            "job.Bad: first\nsecond\n\n\tat A.b(A.java:1)\n",
            "job.Bad: first second",
        ),
        (
            "java.lang.RuntimeException: Traceback (most recent call last):\n  File cut off\n",
            "Traceback (most recent call last): File cut off",
        ),
        (
            "org.apache.flink.table.api.SqlParserException: SQL parse failed.\n"
            'Caused by: org.apache.calcite.sql.parser.SqlParseException: Encountered "FORM" at line'
            ' 1, column 9.\nWas expecting one of:\n    <EOF>\n    "FROM" ...\n    \n\t... 4 more\n',
            'Encountered "FORM" at line 1, column 9.',
        ),
    ],
)
def test_unusual_texts(text: str, expected: str) -> None:
    assert java_errors.root_cause(text) == expected


def test_the_path_of_a_savepoint_is_found_in_the_failure_of_the_stop() -> None:
    text = (
        "java.util.concurrent.CompletionException: org.apache.flink.runtime.scheduler."
        "stopwithsavepoint.StopWithSavepointStoppingException: A savepoint has been created at: "
        "s3://bucket/a,b/savepoint-1c3-9, but the corresponding job 1c3 failed during stopping. "
        "The savepoint is consistent, but might have uncommitted transactions.\n\tat A.b(A.java:1)"
    )

    found = java_errors.savepoint_of_stop(text)

    assert found == java_errors.StopSavepoint("s3://bucket/a,b/savepoint-1c3-9", "1c3")
    assert java_errors.savepoint_of_stop("java.io.IOException: no space") is None
    assert (
        java_errors.savepoint_of_stop("A savepoint has been created at: /what/a/job/prints") is None
    )
