"""What Flink's client sets before it deploys a cluster.

The configuration of a cluster is not only what the user wrote: `KubernetesClusterDescriptor`, the
command line and `ApplicationConfiguration` add the entry point, fixed ports (a Service needs them),
and in application mode the whole program. The JobManager reads all this from the mounted file.
"""

from __future__ import annotations

from kubeflink.config import Configuration
from kubeflink.config.options import (
    blob,
    core,
    deployment,
    high_availability,
    jobmanager,
    kubernetes,
    pipeline,
    python,
    rest,
    taskmanager,
)
from kubeflink.config.options.option import Option
from kubeflink.errors import ConfigurationError, UsageError
from kubeflink.spec import names
from kubeflink.spec.parameters import (
    APPLICATION,
    SESSION,
    fixed_port,
    is_high_availability_on,
)
from kubeflink.spec.program import SQL_DRIVER, Program, absolute_uri, class_path_url, scheme_of

EXECUTION_MODE = "internal.cluster.execution-mode"
SESSION_ENTRY_POINT = "org.apache.flink.kubernetes.entrypoint.KubernetesSessionClusterEntrypoint"
APPLICATION_ENTRY_POINT = (
    "org.apache.flink.kubernetes.entrypoint.KubernetesApplicationClusterEntrypoint"
)

BLOB_SERVER_PORT = 6124
TASKMANAGER_RPC_PORT = 6122
REST_PORT = 8081

DEFAULT_CLAIM_MODE = "NO_CLAIM"


def session_configuration(configuration: Configuration) -> Configuration:
    """The configuration of a session cluster as it is deployed.

    A cluster id is made up where there is none. Raises `ConfigurationError` for a cluster id that
    cannot be one and for a port that is a range.
    """
    return _deployed(configuration, SESSION, SESSION_ENTRY_POINT)


def application_configuration(configuration: Configuration, program: Program) -> Configuration:
    """The configuration of an application cluster that runs this program, as it is deployed.

    A cluster id is made up where there is none. Raises `ConfigurationError` as
    `session_configuration` does, and `UsageError` for a program that such a cluster cannot reach.
    """
    configuration = configuration.with_values(_program_options(configuration, program))
    configuration = configuration.with_values(_application_options(configuration, program))
    return _deployed(configuration, APPLICATION, APPLICATION_ENTRY_POINT)


def deployment_target(configuration: Configuration) -> str:
    """`kubernetes-session` or `kubernetes-application`, of a configuration as it is deployed."""
    target = configuration.get(deployment.EXECUTION_TARGET)
    return APPLICATION if target == APPLICATION else SESSION


# --- both kinds of clusters ------------------------------------------------------------------


def _deployed(configuration: Configuration, target: str, entry_point: str) -> Configuration:
    cluster_id = configuration.get(kubernetes.CLUSTER_ID)
    if cluster_id is None:
        cluster_id = names.random_cluster_id()
    names.validate_cluster_id(cluster_id, configuration.origin(kubernetes.CLUSTER_ID.key))
    values: dict[str, object] = {
        kubernetes.CLUSTER_ID.key: cluster_id,
        deployment.EXECUTION_TARGET.key: target,
        EXECUTION_MODE: "NORMAL",
        kubernetes.INTERNAL_JOBMANAGER_ENTRYPOINT_CLASS.key: entry_point,
    }
    values |= _fixed(configuration, blob.SERVER_PORT, BLOB_SERVER_PORT)
    values |= _fixed(configuration, taskmanager.RPC_PORT, TASKMANAGER_RPC_PORT)
    values |= _fixed(configuration, rest.BIND_PORT, REST_PORT)
    if is_high_availability_on(configuration):
        values[high_availability.CLUSTER_ID.key] = cluster_id
        rpc_port = configuration.get(jobmanager.RPC_PORT)
        values |= _fixed(configuration, high_availability.JOBMANAGER_PORT, rpc_port)
    return configuration.with_values(values)


def _fixed(configuration: Configuration, option: Option[str], port: int) -> dict[str, object]:
    """A port for an option that leaves it open (`checkAndUpdatePortConfigOption`)."""
    return {option.key: str(port)} if fixed_port(configuration, option) == 0 else {}


# --- programs --------------------------------------------------------------------------------


def _program_options(configuration: Configuration, program: Program) -> dict[str, object]:
    """What Flink's command line makes of the options of a run (`ProgramOptions`)."""
    address = _program_address(configuration, program)
    jars = [] if address is None else [address]
    classpaths = [class_path_url(path) for path in program.classpaths]
    values: dict[str, object] = {
        deployment.EXECUTION_ATTACHED.key: not program.detached,
        deployment.EXECUTION_SHUTDOWN_ON_ATTACHED_EXIT.key: program.shutdown_on_attached_exit,
        **_list_value(configuration, pipeline.CLASSPATHS.key, classpaths),
        **_list_value(configuration, pipeline.JARS.key, jars),
        **_recovery_options(configuration, program),
        **_python_options(program),
    }
    if program.parallelism is not None:
        values[core.PARALLELISM_DEFAULT.key] = program.parallelism
    return values


def _application_options(configuration: Configuration, program: Program) -> dict[str, object]:
    """The program itself (`ApplicationConfiguration`)."""
    key = deployment.INTERNAL_APPLICATION_PROGRAM_ARGS.key
    values = _list_value(configuration, key, program.program_arguments)
    if program.entry_class is not None:
        values[deployment.INTERNAL_APPLICATION_MAIN.key] = program.entry_class
    return values


def _list_value(configuration: Configuration, key: str, items: list[str]) -> dict[str, object]:
    """A list option; Flink 2 leaves one without elements alone, earlier versions empty it."""
    return {key: items} if items or configuration.version.writes_empty_lists else {}


def _recovery_options(configuration: Configuration, program: Program) -> dict[str, object]:
    """From which savepoint to start (`SavepointRestoreSettings`), under the version's names."""
    if configuration.version.names_state_recovery:
        path = "execution.state-recovery.path"
        ignore = "execution.state-recovery.ignore-unclaimed-state"
        mode = "execution.state-recovery.claim-mode"
    else:
        path = "execution.savepoint.path"
        ignore = "execution.savepoint.ignore-unclaimed-state"
        mode = "execution.savepoint-restore-mode"
    values: dict[str, object] = {
        ignore: program.allow_non_restored_state,
        mode: program.claim_mode or DEFAULT_CLAIM_MODE,
    }
    if program.savepoint_path is not None:
        values[path] = program.savepoint_path
    return values


def _python_options(program: Program) -> dict[str, object]:
    if program.python is None:
        return {}
    texts: dict[str, str | None] = {
        python.FILES.key: program.python.files,
        python.ARCHIVES.key: program.python.archives,
        python.REQUIREMENTS.key: program.python.requirements,
        python.EXECUTABLE.key: program.python.executable,
        python.CLIENT_EXECUTABLE.key: program.python.client_executable,
        python.PYTHONPATH.key: program.python.python_path,
    }
    return {key: text for key, text in texts.items() if text is not None}


def _program_address(configuration: Configuration, program: Program) -> str | None:
    """Where the JobManager finds the jar; None for a Python program without one.

    A path of this machine is of no use to the pods. Where uploading is on it becomes `local://`,
    which is what is uploaded; else it is refused (Flink deploys, and the JobManager fails).
    """
    if program.uri is None:
        if program.python is not None and program.python.entry:
            return None
        if program.main_class == SQL_DRIVER:
            _check_sql(configuration)
            return None
        raise UsageError("an application needs a program: a jar, or a Python script or module")
    uri = absolute_uri(program.uri)
    scheme = scheme_of(uri)
    if scheme == "file" and not program.uri.lower().startswith("file://"):
        if not _uploads(configuration):
            raise UsageError(
                f"the program {program.uri} is a file of this machine, which the pods do not have",
                hint=_program_hint(configuration),
            )
        return "local://" + uri.partition(":")[2]
    if scheme != "local" and not configuration.version.fetches_programs:
        raise ConfigurationError(
            f"Flink {configuration.version} runs only a program that is in the image, not {uri}",
            hint=_program_hint(configuration),
        )
    return uri


def _check_sql(configuration: Configuration) -> None:
    if not configuration.version.runs_sql_applications:
        raise UsageError(
            f"Flink {configuration.version} cannot run a SQL script as an application;"
            " that came with 2.0",
            hint="Run it on a session cluster: kubeflink run --session NAME SCRIPT.sql",
        )


def _uploads(configuration: Configuration) -> bool:
    return (
        configuration.version.uploads_artifacts
        and configuration.get(kubernetes.ARTIFACTS_LOCAL_UPLOAD_ENABLED)
        and bool(configuration.get(kubernetes.ARTIFACTS_LOCAL_UPLOAD_TARGET))
    )


def _program_hint(configuration: Configuration) -> str:
    hint = "Give its path in the image, such as local:///opt/flink/usrlib/job.jar"
    if not configuration.version.uploads_artifacts:
        return f"{hint}."
    enabled = kubernetes.ARTIFACTS_LOCAL_UPLOAD_ENABLED.key
    target = kubernetes.ARTIFACTS_LOCAL_UPLOAD_TARGET.key
    return f"{hint}, or have it uploaded with {enabled}=true and {target}."
