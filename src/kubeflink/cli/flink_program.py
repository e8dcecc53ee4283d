"""What a `run` command line says about the program: Flink's `ProgramOptions` as plain values.

Flink takes the program's jar from `-j` or from the first word after the options. A Python program
has no jar there: `-py` and `-pym` become the first arguments of Flink's own `PythonDriver`, which
is the main class unless `-c` names another. The words after the options are the program's, exactly
as they are; `-a` replaces them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kubeflink.cli.flink_arguments import CommandLine
from kubeflink.errors import UsageError

PYTHON_DRIVER = "org.apache.flink.client.python.PythonDriver"
_PYTHON_GATEWAY = "org.apache.flink.client.python.PythonGatewayServer"

_PYTHON_OPTIONS = {
    "pyfs": "python.files",
    "pyreq": "python.requirements",
    "pyarch": "python.archives",
    "pyexec": "python.executable",
    "pyclientexec": "python.client.executable",
    "pypath": "python.pythonpath",
}

_CLAIM_MODES = ("CLAIM", "NO_CLAIM", "LEGACY")

_URL = re.compile(r"\s*(url:)?(file|ftp|http|https|jar|jmod|jrt|mailto):", re.IGNORECASE)
"""The protocols that a JVM can read from, as `java.net.URL` knows them without any plug-in."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INTEGER = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """The program of `run`, and how it is to be run.

    `jar` is a path or URI as it was written. `arguments` are complete: for a Python program they
    begin with `--python` or `--pyModule`. `python` holds configuration options. `parallelism` is
    None where it was not given.
    """

    jar: str | None = None
    main_class: str | None = None
    arguments: tuple[str, ...] = ()
    is_python: bool = False
    classpaths: tuple[str, ...] = ()
    parallelism: int | None = None
    detached: bool = False
    shutdown_on_attached_exit: bool = False
    savepoint: str | None = None
    allow_non_restored_state: bool = False
    claim_mode: str = "NO_CLAIM"
    python: Mapping[str, str] = field(default_factory=dict)


def program_options(line: CommandLine) -> ProgramOptions:
    """The program that a command line names; `UsageError` for a value that Flink refuses."""
    is_python = line.has("py") or line.has("pym") or line.value("c") == _PYTHON_GATEWAY
    jar, arguments = line.value("j"), line.values("a") if line.has("a") else line.arguments
    if is_python:
        arguments = (*_python_entry(line), *arguments)
    elif jar is None and arguments:
        jar, *rest = arguments
        arguments = tuple(rest)
    savepoint = line.value("s")
    return ProgramOptions(
        jar=jar,
        main_class=line.value("c") or (PYTHON_DRIVER if is_python else None),
        arguments=arguments,
        is_python=is_python,
        classpaths=tuple(_classpath(path) for path in line.values("C")),
        parallelism=_parallelism(line.value("p")),
        detached=line.has("d") or line.has("yd"),
        shutdown_on_attached_exit=line.has("sae"),
        savepoint=savepoint,
        allow_non_restored_state=savepoint is not None and line.has("n"),
        claim_mode=_claim_mode(line) if savepoint is not None else "NO_CLAIM",
        python={
            key: value
            for name, key in _PYTHON_OPTIONS.items()
            if (value := line.value(name)) is not None
        },
    )


def check_program(options: ProgramOptions) -> None:
    """Refuse what cannot be the program that was meant (`UsageError`).

    A word that begins with a hyphen is a misspelt option; Flink would make it a file's name, and in
    application mode deploy it. After a stray `--` the first word of a comment is the program, and
    the options behind it are arguments.
    """
    jar = options.jar
    if jar is None:
        if options.is_python:
            return
        raise UsageError(
            "no program was given",
            hint="Name a jar after the options, or a Python program with -py or -pym.",
        )
    if is_uri(jar) or Path(jar).exists():
        return
    if jar.startswith("-"):
        raise UsageError(f"there is no option {jar}", hint=_form_that_was_meant(jar))
    options_behind = [word for word in options.arguments if _is_dynamic_property(word)]
    if options_behind:
        raise UsageError(
            f"the program {jar} does not exist, and options stand after it: {options_behind[0]}",
            hint="Options go before the program; a -- ends the options.",
        )


def is_uri(text: str) -> bool:
    """Whether a program is named by a URI (`local:///a.jar`) and not by a path."""
    return _SCHEME.match(text) is not None


def unknown_word(words: tuple[str, ...], dynamic: tuple[tuple[str, str | None], ...]) -> UsageError:
    """The error for words that a command without a program cannot take, with the form meant."""
    word = words[0]
    if dynamic and dynamic[-1][1] == "=":
        key = dynamic[-1][0]
        return UsageError(
            f"-D {key} = {word} is not one word", hint=f"Write -D{key}={word} without blanks."
        )
    if word.startswith("-"):
        return UsageError(f"there is no option {word}", hint=_form_that_was_meant(word))
    hint = f"Write -D{word}." if "=" in word else "Is a backslash missing at the end of a line?"
    return UsageError(f"the word {word} is no option", hint=hint)


def _form_that_was_meant(word: str) -> str:
    text = word.lstrip("-")
    key = re.match(r"D?([a-z$][\w$-]*(\.[\w-]+)+)(=.*)?$", text, re.DOTALL)
    if key:
        return f"Write -D{key[1]}{key[3] or '=VALUE'}."
    return "See --help for the options; those of the configuration are written -Dkey=value."


def _is_dynamic_property(word: str) -> bool:
    return re.match(r"-D[\w$][\w$.-]*=", word) is not None


def _python_entry(line: CommandLine) -> list[str]:
    """`-py` and `-pym` in the order given, as arguments of the PythonDriver."""
    words = []
    for option, values in line.options:
        if option.key in ("py", "pym"):
            words += [f"--{option.long}", values[0]]
    return words


def _classpath(path: str) -> str:
    if not _URL.match(path):
        raise UsageError(
            f"the class path {path} is no URL",
            hint="Use file:, http:, https: or ftp:, and a place that every pod can reach.",
        )
    return path


def _parallelism(text: str | None) -> int | None:
    """-1 stands for the default; else a positive number of 32 bits."""
    if text is None:
        return None
    number = int(text) if _INTEGER.fullmatch(text) else 0
    if number != -1 and not 0 < number < 2**31:
        raise UsageError(f"the parallelism must be a positive number, not {text}")
    return number


def _claim_mode(line: CommandLine) -> str:
    text = line.value("cm") or line.value("rm")
    if text is None:
        return "NO_CLAIM"
    if text.upper() not in _CLAIM_MODES:
        raise UsageError(
            f"{text} is no claim mode", hint=f"It is one of {', '.join(_CLAIM_MODES).lower()}."
        )
    return text.upper()
