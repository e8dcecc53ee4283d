"""What a `run` command line says about the program: Flink's `ProgramOptions`.

Flink takes the program's jar from `-j` or from the first word after the options. A Python program
has no jar there: `-py` and `-pym` become the first arguments of Flink's own `PythonDriver`, which
is the main class unless `-c` names another. The words after the options are the program's, exactly
as they are; `-a` replaces them.
"""

from __future__ import annotations

import re
from pathlib import Path

from kubeflink.cli.flink_arguments import CommandLine
from kubeflink.errors import UsageError
from kubeflink.spec.program import Program, PythonProgram

_PYTHON_GATEWAY = "org.apache.flink.client.python.PythonGatewayServer"

_CLAIM_MODES = ("CLAIM", "NO_CLAIM", "LEGACY")

_URL = re.compile(r"\s*(url:)?(file|ftp|http|https|jar|jmod|jrt|mailto):", re.IGNORECASE)
"""The protocols that a JVM can read from, as `java.net.URL` knows them without any plug-in."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INTEGER = re.compile(r"[+-]?[0-9]+")


def program_of(line: CommandLine) -> Program:
    """The program that a command line names; `UsageError` for a value that Flink refuses."""
    python = _python(line)
    has_entry = python is not None and bool(python.entry)
    uri, arguments = line.value("j"), line.values("a") if line.has("a") else line.arguments
    if uri is None and arguments and not has_entry and line.value("c") != _PYTHON_GATEWAY:
        uri, *rest = arguments
        arguments = tuple(rest)
    savepoint = line.value("s")
    return Program(
        uri=uri,
        main_class=line.value("c"),
        arguments=arguments,
        classpaths=tuple(_classpath(path) for path in line.values("C")),
        python=python,
        parallelism=_parallelism(line.value("p")),
        detached=line.has("d") or line.has("yd"),
        shutdown_on_attached_exit=line.has("sae"),
        savepoint_path=savepoint,
        allow_non_restored_state=savepoint is not None and line.has("n"),
        claim_mode=_claim_mode(line) if savepoint is not None else None,
    )


def check_program(program: Program) -> None:
    """Refuse what cannot be the program that was meant (`UsageError`).

    A word that begins with a hyphen is a misspelt option; Flink would make it a file's name, and in
    application mode deploy it. After a stray `--` the first word of a comment is the program, and
    the options behind it are arguments.
    """
    uri = program.uri
    if uri is None:
        if program.python is not None and program.python.entry:
            return
        raise UsageError(
            "no program was given",
            hint="Name a jar after the options, or a Python program with -py or -pym.",
        )
    if is_uri(uri) or Path(uri).exists():
        return
    if uri.startswith("-"):
        raise UsageError(f"there is no option {uri}", hint=_form_that_was_meant(uri))
    options_behind = [word for word in program.arguments if _is_dynamic_property(word)]
    if options_behind:
        raise UsageError(
            f"the program {uri} does not exist, and options stand after it: {options_behind[0]}",
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


def _python(line: CommandLine) -> PythonProgram | None:
    python = PythonProgram(
        script=line.value("py"),
        module=line.value("pym"),
        files=line.value("pyfs"),
        archives=line.value("pyarch"),
        requirements=line.value("pyreq"),
        executable=line.value("pyexec"),
        client_executable=line.value("pyclientexec"),
        python_path=line.value("pypath"),
    )
    if python.script is not None and python.module is not None:
        raise UsageError("the program is either a script (-py) or a module (-pym), not both")
    return None if python == PythonProgram() else python


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
