"""A PyFlink program whose function needs everything that can be sent along with a program.

Its function runs in the TaskManagers' Python and joins what it gets with the words of a module of
its own, of a requirement that is installed for it, and of a file in an archive.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

_PROGRAM = """
import sys
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

@udf(result_type=DataTypes.STRING())
def joined(n):
    import a_module, a_requirement
    with open("archive/a_file") as file:
        return " ".join([str(n), a_module.WORD, a_requirement.WORD, file.read()])

def main():
    table = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table.create_temporary_system_function("joined", joined)
    print("arguments:", sys.argv[1:])
    for statement in sys.argv[2:]:
        table.execute_sql(statement)

if __name__ == "__main__":
    main()
"""


@dataclass(frozen=True)
class PythonProgram:
    """Paths as the options take them."""

    script: Path
    files: str
    requirements: str
    archives: str

    @property
    def rows(self) -> list[str]:
        """What `joined` makes of 1, 2 and 3."""
        return [f"{n} module requirement file" for n in (1, 2, 3)]

    @staticmethod
    def statements(directory: Path) -> list[str]:
        """Statements of a job that calls the function and writes what it returns."""
        return [
            "CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen',"
            " 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3')",
            "CREATE TABLE sink (w STRING) WITH ('connector' = 'filesystem', 'format' = 'raw',"
            f" 'path' = '{directory.as_uri()}')",
            "INSERT INTO sink SELECT joined(n) FROM numbers",
        ]


def python_program(directory: Path) -> PythonProgram:
    """The program and all that belongs to it, made in a directory."""
    wheels = directory / "wheels"
    wheels.mkdir()
    script, module = directory / "job.py", directory / "a_module.py"
    script.write_text(_PROGRAM, encoding="utf-8")
    module.write_text("WORD = 'module'\n", encoding="utf-8")
    _make_wheel(wheels)
    requirements = directory / "requirements.txt"
    requirements.write_text("a-requirement==1.0\n", encoding="utf-8")
    archive = directory / "data.zip"
    with zipfile.ZipFile(archive, "w") as data:
        data.writestr("a_file", "file")
    return PythonProgram(script, str(module), f"{requirements}#{wheels}", f"{archive}#archive")


def _make_wheel(directory: Path) -> None:
    information = "a_requirement-1.0.dist-info"
    with zipfile.ZipFile(directory / "a_requirement-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("a_requirement.py", "WORD = 'requirement'\n")
        metadata = "Metadata-Version: 2.1\nName: a-requirement\nVersion: 1.0\n"
        wheel.writestr(f"{information}/METADATA", metadata)
        tag = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{information}/WHEEL", tag)
        wheel.writestr(f"{information}/RECORD", "")
