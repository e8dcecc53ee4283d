"""Flink's own command line parser as a judge, and command lines to try on both."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError

from kubeflink.cli import flink_options
from kubeflink.cli.flink_arguments import FlinkOption
from support.judge import FlinkJudge

_VALUES = (
    "x", "a=b", "-1", "-d", '"q"', '"a"b"', "", "a b", "k", "-", "--", "=", "-Dx", "remote", "/p",
    "-x=y", "é",
)  # fmt: skip
_ODDITIES = (
    "-Da=b", "-D", "-Dab", "-D=", "-D=x", "-Dk==", "k=v", "-Da=b=c", "-dn", "-dp4", "-dX", "-nd",
    "--bogus", "-zz", "-=", "-=a", "--=", "--=x", "-", "job.jar", "--Dk=v", "-kubernetes.x=y",
    "-Dx=", "-h", '"', '""', "-p4", "-cFoo", "-pX=3", "-python", "-parallelism4", "-parallelism44",
    "-fromSavepointX=Y", "-C=", "-t=", "-t=remote", "-é", "-D é", "-executor", "-targetx",
)  # fmt: skip
_PROGRAMS = ("job.jar", "x", "-", "--", "--foo")


def generate(chance: random.Random, options: Sequence[FlinkOption]) -> list[str]:
    """The words after an action: options in all their forms, oddities, perhaps a program."""
    words: list[str] = []
    for _ in range(chance.randint(0, 4)):
        name, value = (
            chance.choice(_spellings(chance, chance.choice(options))),
            chance.choice(_VALUES),
        )
        words += chance.choice(([name], [name, value], [f"{name}={value}"], [name + value]))
        if chance.random() < 0.15:
            words.append(chance.choice(_ODDITIES))
    if chance.random() < 0.5:
        words.append(chance.choice(_PROGRAMS))
    return words


def _spellings(chance: random.Random, option: FlinkOption) -> list[str]:
    names = [f"-{option.short}"] if option.short else []
    if option.long:
        short = option.long[: chance.randint(1, len(option.long))]
        names += [f"--{option.long}", f"-{option.long}", f"--{short}", f"-{short}"]
    return names


@dataclass(frozen=True)
class Parsed:
    """Options with their values, and the words after them; None for both if it was refused."""

    options: tuple[tuple[str, tuple[str, ...]], ...] | None
    arguments: tuple[str, ...] | None


class CommandLineJudge:
    """Asks the real `CliFrontend` of the judge's version."""

    def __init__(self, judge: FlinkJudge) -> None:
        gateway: Any = judge._gateway
        self._judge = judge
        self._jvm = gateway.jvm
        self._gateway = gateway
        self._client = self._jvm.org.apache.flink.client.cli
        self._frontend = self._client.CliFrontend(
            self._jvm.org.apache.flink.configuration.Configuration(), self._command_lines()
        )

    def _command_lines(self) -> Any:
        empty = self._jvm.org.apache.flink.configuration.Configuration()
        return self._client.CliFrontend.loadCustomCommandLines(empty, "conf")

    def _options(self, action: str) -> Any:
        name = "run" if action == "run-application" else action
        parser = "org.apache.flink.client.cli.CliFrontendParser"
        method = self._judge._private_method(parser, f"get{name.capitalize()}CommandOptions")
        return method.invoke(None, self._gateway.new_array(self._jvm.java.lang.Object, 0))

    def options(self, action: str) -> set[tuple[str | None, str | None, int, bool]]:
        """Short name, long name, number of values, and whether they are optional."""
        merged = self._client.CliFrontendParser.mergeOptions(
            self._options(action), self._frontend.getCustomCommandLineOptions()
        )
        return {
            (each.getOpt(), each.getLongOpt(), max(each.getArgs(), 0), each.hasOptionalArg())
            if each.getArgs() != -2
            else (each.getOpt(), each.getLongOpt(), -1, each.hasOptionalArg())
            for each in merged.getOptions().toArray()
        }

    def _parse(self, action: str, words: Sequence[str]) -> Any:
        follows = action in flink_options.PROGRAM_ACTIONS
        array = self._gateway.new_array(self._jvm.java.lang.String, len(words))
        for index, word in enumerate(words):
            array[index] = word
        return self._frontend.getCommandLine(self._options(action), array, follows)

    def parse(self, action: str, words: Sequence[str]) -> Parsed:
        """What Flink makes of the words after an action."""
        try:
            line = self._parse(action, words)
        except Py4JJavaError:
            return Parsed(None, None)
        options = tuple(
            (str(each.getOpt() or each.getLongOpt()), tuple(map(str, each.getValuesList())))
            for each in line.getOptions()
        )
        return Parsed(options, tuple(map(str, line.getArgs())))

    def program(self, words: Sequence[str]) -> Mapping[str, Any] | None:
        """The program of `run` with these words: jar, main class, arguments, configuration."""
        try:
            line = self._parse("run", words)
            options = self._client.ProgramOptions.create(line)
            found = self._jvm.org.apache.flink.configuration.Configuration()
            options.applyToConfiguration(found)
        except Py4JJavaError:
            return None
        return {
            "jar": options.getJarFilePath(),
            "main_class": options.getEntryPointClassName(),
            "arguments": tuple(map(str, options.getProgramArgs())),
            "configuration": dict(found.toMap()),
        }
