"""Flink's command line forms: a small parser with the rules of the library that Flink uses.

Flink's scripts parse with Apache Commons CLI (`DefaultParser`, 1.5), whose habits are not those of
getopt or click, and which scripts rely on:

* one hyphen or two make no difference for a long name: `-detached` is `--detached`;
* a long name may be cut short while only one name begins so: `--det` is `--detached`, `--p` is
  ambiguous, and `--s` is, of all things, `--shutdownOnAttachedExit`;
* `-t=remote`, `-tremote` and `-t remote` are the same, as are `-Dk=v`, `-D k=v` and `-D k v`;
* short options may be written together, `-dn`, the last one with its value: `-dp4`;
* an option's value is the next word unless that word is itself an option of this action; a value
  in double quotes that reached the program loses them;
* where a program follows (`run`, `info`), the first word that is no option ends the options, even
  if it begins with a hyphen: what comes after belongs to the program. `--` does the same. Elsewhere
  such a word is an error, and options may stand after the arguments.

One habit is left out. After `-py script.py` Flink still reads `--a 1` as an option cut short, and
says that it is ambiguous: here, after a word that names the program, names that are not complete
belong to the program.

An option word is read by trying these in turn; the methods of `_Reading` have the same order. The
tables of options are in `flink_options`. Nothing here has to do with what the options mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubeflink.errors import UsageError

UNLIMITED = -1
"""Value of `FlinkOption.arguments` for an option that takes every word up to the next option."""


@dataclass(frozen=True, slots=True)
class FlinkOption:
    """One option of an action.

    `arguments` is the greatest number of values. An option with a `separator` splits its value
    there until it has that many: `-D k=v`. `since` and `until` are the first and the last Flink
    version, as (major, minor), that know the option; a `hidden` option is accepted but not listed
    by `--help`. Once an option that `names_program` was given, the rest must be spelt out.
    """

    short: str | None
    long: str | None
    description: str = ""
    arguments: int = 0
    argument: str = "arg"
    argument_is_optional: bool = False
    separator: str = ""
    hidden: bool = False
    names_program: bool = False
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] = (99, 99)

    @property
    def key(self) -> str:
        """The name by which values are asked for: the short one where there is one."""
        return self.short or self.long or ""

    def accepts_more(self, values: Sequence[str]) -> bool:
        """Whether another value may follow these."""
        return self.arguments == UNLIMITED or len(values) < self.arguments

    def lacks_values(self, values: Sequence[str]) -> bool:
        """Whether these values are too few."""
        if self.argument_is_optional or self.arguments == 0:
            return False
        return not values if self.arguments == UNLIMITED else len(values) < self.arguments


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line: options in order, each with its values, and the words after them."""

    options: tuple[tuple[FlinkOption, tuple[str, ...]], ...] = ()
    arguments: tuple[str, ...] = ()

    def has(self, key: str) -> bool:
        """Whether the option was given."""
        return any(option.key == key for option, _ in self.options)

    def value(self, key: str) -> str | None:
        """The first value that was given for the option: Flink lets the first one win."""
        values = self.values(key)
        return values[0] if values else None

    def values(self, key: str) -> tuple[str, ...]:
        """All values of all occurrences of the option."""
        return tuple(v for option, values in self.options if option.key == key for v in values)

    @property
    def dynamic_properties(self) -> tuple[tuple[str, str | None], ...]:
        """The `-D` options in order; None stands for the value of a bare `-Dkey`."""
        return tuple(
            (values[0], values[1] if len(values) > 1 else None)
            for option, values in self.options
            if option.key == "D" and values
        )


def parse(
    options: Iterable[FlinkOption], words: Sequence[str], *, program_follows: bool
) -> CommandLine:
    """Parse the words after the action; `UsageError` where Flink refuses them.

    With `program_follows` the first word that is no option ends the options.
    """
    reading = _Reading(_OptionNames(options), program_follows)
    for word in words:
        reading.read(word)
    return reading.finish()


class _OptionNames:
    """The options by name. Names come with or without hyphens."""

    def __init__(self, options: Iterable[FlinkOption]) -> None:
        self.by_short: dict[str, FlinkOption] = {}
        self.by_long: dict[str, FlinkOption] = {}
        for option in options:
            if option.short:
                self.by_short[option.short] = option
            if option.long:
                self.by_long[option.long] = option

    def find(self, name: str) -> FlinkOption | None:
        return self.by_short.get(name) or self.by_long.get(name)

    def long_names(self, start: str) -> list[str]:
        """The long names that begin so; only the name itself where it is complete."""
        if start in self.by_long:
            return [start]
        return [name for name in self.by_long if name.startswith(start)]

    def long_name_before_value(self, text: str) -> str | None:
        """The longest long name at the start of `text`, which must be two letters longer."""
        for length in range(len(text) - 2, 1, -1):
            if text[:length] in self.by_long:
                return text[:length]
        return None

    def is_option(self, word: str) -> bool:
        """Whether the word would be read as an option, so that it cannot be a value."""
        if len(word) < 2 or word[0] != "-":
            return False
        short = word[1:].partition("=")[0]
        if short in self.by_short or short[:1] in self.by_short:
            return True
        if self.long_names(_without_hyphens(word.partition("=")[0])):
            return True
        return not word.startswith("--") and self.long_name_before_value(word[1:]) is not None


class _Reading:
    """The state while the words are read one after the other."""

    def __init__(self, names: _OptionNames, program_follows: bool) -> None:
        self.names = names
        self.program_follows = program_follows
        self.options: list[tuple[FlinkOption, list[str]]] = []
        self.arguments: list[str] = []
        self.open: tuple[FlinkOption, list[str]] | None = None  # may take the next word as a value
        self.options_ended = False

    def finish(self) -> CommandLine:
        self._close()
        options = tuple((option, tuple(values)) for option, values in self.options)
        return CommandLine(options, tuple(self.arguments))

    def read(self, word: str) -> None:
        if self.options_ended:
            self.arguments.append(word)
        elif word == "--":
            self.options_ended = True
        elif self.open is not None and not self.names.is_option(word):
            self._add_value(_without_quotes(word))
        elif word.startswith("--"):
            self._read_long(word, _without_hyphens(word))
        elif word.startswith("-") and word != "-":
            self._read_short_or_long(word, word[1:])
        else:
            self._read_other(word)
        if self.open is not None and not self.open[0].accepts_more(self.open[1]):
            self.open = None

    @property
    def program_is_named(self) -> bool:
        return any(option.names_program for option, _ in self.options)

    def _read_short_or_long(self, word: str, text: str) -> None:
        """A word with one hyphen."""
        name, equals, value = text.partition("=")
        if not equals or len(text) == 1:
            self._read_without_equals(word, text)
        elif not name:
            raise UsageError(f"there is no option {word}")
        elif len(name) == 1:
            option = self.names.find(name)
            if option is not None and option.arguments:
                self._open(option)
                self._add_value(value)
                self.open = None
            else:
                self._read_other(word)
        elif self._is_property(name):
            self._open(self.names.by_short[name[0]])
            self._add_value(name[1:])
            self._add_value(value)
            self.open = None
        else:
            self._read_long(word, text)

    def _read_without_equals(self, word: str, text: str) -> None:
        if text in self.names.by_short:
            self._open(self.names.by_short[text])
        elif len(text) == 1:
            self._read_other(word)
        elif self.names.long_names(text):
            self._read_long(word, text)
        elif (long := self.names.long_name_before_value(text)) and self.names.by_long[
            long
        ].arguments:
            self._open(self.names.by_long[long])
            self._add_value(text[len(long) :])
            self.open = None
        elif self._is_property(text):
            self._open(self.names.by_short[text[0]])
            self._add_value(text[1:])
            self.open = None
        else:
            self._read_joined(word)

    def _read_joined(self, word: str) -> None:
        """Several short options in one word, the last one possibly with its value."""
        for position in range(1, len(word)):
            option = self.names.find(word[position])
            if option is None:
                joined = self.program_follows and position > 1
                self._read_other(word[position:] if joined else word)
                return
            self._open(option)
            if self.open is not None and position + 1 < len(word):
                self._add_value(word[position + 1 :])
                return

    def _read_long(self, word: str, text: str) -> None:
        """A long name, perhaps cut short, perhaps with `=value`."""
        name, equals, value = text.partition("=")
        matching = self.names.long_names(name)
        if not matching or (matching != [name] and self.program_is_named):
            self._read_other(word)
            return
        if len(matching) > 1:
            listed = ", ".join(f"--{name}" for name in matching)
            raise UsageError(f"the option {word} is ambiguous: it may be {listed}")
        option = self.names.find(matching[0])
        assert option is not None
        if not equals:
            self._open(option)
        elif option.arguments:
            self._open(option)
            self._add_value(value)
            self.open = None
        else:
            self._read_other(word)

    def _read_other(self, word: str) -> None:
        """A word that is neither an option nor a value."""
        if word.startswith("-") and len(word) > 1 and not self.program_follows:
            raise UsageError(f"there is no option {word}")
        self.arguments.append(word)
        if self.program_follows:
            self.options_ended = True

    def _is_property(self, text: str) -> bool:
        """Whether this is `Dkey`: an option with two values, and the first of them."""
        option = self.names.find(text[0])
        return option is not None and (option.arguments >= 2 or option.arguments == UNLIMITED)

    def _open(self, option: FlinkOption) -> None:
        self._close()
        values: list[str] = []
        self.options.append((option, values))
        self.open = (option, values) if option.arguments else None

    def _close(self) -> None:
        """Check the option before, whose values have now all been seen."""
        if self.open is not None and self.open[0].lacks_values(self.open[1]):
            option, values = self.open
            if option.key == "D" and values:
                raise UsageError(
                    f"the option -D {values[0]} has no value", hint=f"Write -D{values[0]}=VALUE."
                )
            raise UsageError(f"the option {_spelling(option)} needs a value")

    def _add_value(self, text: str) -> None:
        assert self.open is not None
        option, values = self.open
        while option.separator and len(values) + 1 < option.arguments and option.separator in text:
            value, _, text = text.partition(option.separator)
            values.append(value)
        values.append(text)


def _without_hyphens(word: str) -> str:
    return word.removeprefix("--") if word.startswith("--") else word.removeprefix("-")


def _without_quotes(word: str) -> str:
    """The word without double quotes around it, if there are no others inside."""
    if len(word) > 1 and word[0] == word[-1] == '"' and '"' not in word[1:-1]:
        return word[1:-1]
    return word


def _spelling(option: FlinkOption) -> str:
    names = [f"-{option.short}"] if option.short else []
    if option.long and option.long != option.short:
        names.append(f"--{option.long}")
    return ", ".join(names)
