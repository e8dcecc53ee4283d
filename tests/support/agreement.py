"""Do a run and a recording of real Flink mean the same?

`disagreements` returns sentences, none if the run is acceptable. A recorded success must be
reproduced object by object; what Kubernetes gives no meaning to is brought to one form first
(`normal_form`). A recorded failure must be a clean one here: message, exit code, nothing left
behind. Where kubeflink deliberately differs (`docs/deviations.md`), the outcome that is documented
there is what is asked for.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import yaml

from support.recorder import JsonObject, Request, Target, target_of
from support.scenarios import Run, Scenario

CLUSTER_ID = re.compile(r"[a-z]([-a-z0-9]{0,43}[a-z0-9])?")
CONTEXTS = ("test", "other")
MOST_ERROR_LINES = 25
FIRST_RANDOM_PORT = 32768

# --- what a scenario asks for ----------------------------------------------------------------


def disagreements(scenario: Scenario, run: Run) -> list[str]:
    """What is wrong with a run of a `session` or `application` scenario."""
    options = configured(scenario)
    if scenario.mode == "session" and {"-h", "--help"} & set(scenario.args):
        return _help_shown(run)
    cluster_id = options.get("kubernetes.cluster-id")
    if cluster_id is not None and not CLUSTER_ID.fullmatch(str(cluster_id)):
        return _clean_failure(scenario, run) + _nothing_sent(run)
    conflict = conflicting_keys(scenario, options)
    if conflict and scenario.exit_code and run.exit_code == 0:
        return _complete(run)
    if conflict and run.exit_code:
        return _clean_failure(scenario, run)
    if _address_was_unknown(scenario) and run.exit_code == 0:
        return _as_recorded(scenario, run, exit_code=0)
    if scenario.exit_code or _may_be_refused(scenario, run, options):
        return _clean_failure(scenario, run)
    return _as_recorded(scenario, run, free_keys=conflict)


def configured(scenario: Scenario) -> dict[str, Any]:
    """The configuration file overlaid with the `-D` options of the command line."""
    options = dict(_flat(scenario.raw.get("conf_file") or {}))
    if not options and "conf/config.yaml" in scenario.files:
        try:
            options = dict(_flat(core_yaml(scenario.files["conf/config.yaml"]) or {}))
        except (yaml.YAMLError, AttributeError):
            options = {}
    words = iter(scenario.args)
    for word in words:
        if word.startswith("-D"):
            key, equals, value = (word[2:] or next(words, "")).partition("=")
            options[key] = value if equals else "true"
    return options


def conflicting_keys(scenario: Scenario, options: Mapping[str, Any]) -> set[str]:
    """Keys of a nested configuration file that are the prefix of another."""
    if "conf/config.yaml" not in scenario.files:
        return set()
    return {key for key in options if any(other.startswith(f"{key}.") for other in options)}


def _address_was_unknown(scenario: Scenario) -> bool:
    """Whether real Flink deployed everything and then failed for want of an address."""
    sent = [request for request in scenario.requests if request.mutating]
    return bool(
        scenario.exit_code
        and sent
        and all(request.succeeded for request in sent)
        and not any(request.method == "DELETE" for request in sent)
    )


def _may_be_refused(scenario: Scenario, run: Run, options: Mapping[str, Any]) -> bool:
    """Whether the run refused what real Flink let pass: before anything was changed, or, where an
    object of somebody else was in the way, when it was found.
    """
    if run.exit_code == 0:
        return False
    foreign = bool(scenario.raw.get("cluster_state_before")) and any(
        request.method == "PUT" for request in scenario.requests
    )
    if foreign:
        return True
    if any(request.mutating and request.succeeded for request in run.requests):
        return False
    unknown_word = scenario.mode == "session" and any(
        not word.startswith("-D") for word in scenario.args
    )
    unknown_context = options.get("kubernetes.context", CONTEXTS[0]) not in CONTEXTS
    local_program = scenario.mode == "application" and "file:" in str(
        [request.body for request in scenario.requests]
    )
    return unknown_word or unknown_context or local_program


# --- outcomes --------------------------------------------------------------------------------


def _help_shown(run: Run) -> list[str]:
    found = [] if run.exit_code == 0 else [f"exit code {run.exit_code}, expected 0"]
    return found + ([] if run.stdout.strip() else ["no help on stdout"]) + _nothing_sent(run)


def _clean_failure(scenario: Scenario, run: Run) -> list[str]:
    found = []
    if run.exit_code is None or run.exit_code <= 0:
        found.append(f"exit code {run.exit_code}, expected a failure")
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_ERROR_LINES or "Traceback" in run.stderr:
        found.append(f"no short message on stderr: {run.stderr[-400:]!r}")
    made = {_object(request) for request in run.requests if request.created_uid}
    if not any(fault.method == "DELETE" for fault in scenario.faults):
        left = made & run.after.keys()
        found += [f"{target.member} was left behind" for target in left]
    return found + _foreign_objects(run, permitted=made)


def _complete(run: Run) -> list[str]:
    """A deployment that holds together, where there is no recorded one to compare with."""
    got = _written(run.requests)
    kinds = {target.plural for target in got}
    found = [
        f"no {kind} was created" for kind in ("deployments", "configmaps") if kind not in kinds
    ]
    return found + _owner_references(run, got) + _order(run, got)


def _nothing_sent(run: Run) -> list[str]:
    return [f"{r.method} {r.path} was sent" for r in run.requests if r.mutating]


def _as_recorded(
    scenario: Scenario, run: Run, *, exit_code: int = 0, free_keys: set[str] | None = None
) -> list[str]:
    found = []
    if run.exit_code != exit_code:
        found.append(f"exit code {run.exit_code}: {run.stderr[-400:]!r}")
    if "Traceback" in run.stderr + run.stdout:
        found.append("a traceback was printed")
    recorded = _written(scenario.requests)
    got = _written(run.requests)
    recorded = _with_generated_names(recorded, got)
    found += [f"{target.member} was not created" for target in recorded.keys() - got.keys()]
    found += [f"{target.member} was created" for target in got.keys() - recorded.keys()]
    for target in recorded.keys() & got.keys():
        left = normal_form(recorded[target], target.namespace)
        right = normal_form(got[target], target.namespace)
        _accept_restart_policy(left, right)
        for path, expected, seen in differences(left, right, f"{target.member}:"):
            if not any(key in path for key in free_keys or ()):
                found.append(f"{path} is {seen!r}, expected {expected!r}")
    found += _owner_references(run, got)
    found += _order(run, got)
    deleted = {_object(r) for r in scenario.requests if r.method == "DELETE" and r.succeeded}
    found += _foreign_objects(run, permitted=deleted | recorded.keys())
    found += [f"{each.member} is still there" for each in deleted & run.after.keys()]
    agent = configured(scenario).get("kubernetes.client.user-agent")
    if agent is not None and {r.user_agent for r in run.requests if r.mutating} != {agent}:
        found.append(f"the user agent is not {agent}")
    return found


def _owner_references(run: Run, got: Mapping[Target, JsonObject]) -> list[str]:
    """Everything belongs to the Deployment that this run created."""
    uids = {
        request.created_uid
        for request in run.requests
        if request.created_uid and _object(request).plural == "deployments"
    }
    return [
        f"{target.member} is owned by {owner['uid']}"
        for target, obj in got.items()
        if target.plural != "deployments"
        for owner in obj["metadata"].get("ownerReferences") or ()
        if owner["kind"] == "Deployment" and owner["uid"] not in uids
    ]


def _order(run: Run, got: Mapping[Target, JsonObject]) -> list[str]:
    """The Deployment first, nothing twice, nothing patched."""
    sent = [request for request in run.requests if request.mutating]
    found = [f"PATCH {request.path}" for request in sent if request.method == "PATCH"]
    if got and _object(sent[0]).plural != "deployments":
        found.append(f"{sent[0].path} was sent before the Deployment")
    made = [_object(request) for request in sent if request.created_uid]
    found += [f"{each.member} was created twice" for each in made if made.count(each) > 1]
    return found


def _foreign_objects(run: Run, permitted: set[Target]) -> list[str]:
    """What was there before and is not this run's is as it was, and no deletion was tried."""
    found = [
        f"{target.member} was changed or deleted"
        for target, obj in run.before.items()
        if target not in permitted
        and run.after.get(target) != obj
        and not _owned_by(obj, permitted)
    ]
    made = {_object(request) for request in run.requests if request.created_uid}
    found += [
        f"DELETE {request.path}"
        for request in run.requests
        if request.mutating
        and request.method == "DELETE"
        and _object(request) not in made | permitted
    ]
    return found


def _owned_by(obj: JsonObject, owners: set[Target]) -> bool:
    names = {(owner.plural, owner.name) for owner in owners}
    references = obj["metadata"].get("ownerReferences") or ()
    return any((f"{each['kind'].lower()}s", each["name"]) in names for each in references)


# --- requests --------------------------------------------------------------------------------


def _object(request: Request) -> Target:
    return target_of(request.object_path) or Target(request.path, None, None)


def _written(requests: Sequence[Request]) -> dict[Target, JsonObject]:
    """The last accepted body of each object."""
    return {
        _object(request): request.body
        for request in requests
        if request.mutating and request.succeeded and request.method in ("POST", "PUT")
    }


def _with_generated_names(
    recorded: Mapping[Target, JsonObject], got: Mapping[Target, JsonObject]
) -> dict[Target, JsonObject]:
    """The recorded objects with this run's random cluster id in the place of theirs."""
    names = [target.name for target in got if target.plural == "deployments"]
    generated = re.search(r"flink-cluster-([0-9a-f]{31})$", names[0] or "") if names else None

    def fill(text: str) -> str:
        return re.sub(r"\$\{HEX\d+\}", generated[1], text) if generated else text

    return {
        Target(target.plural, target.namespace, fill(target.name or "")): json.loads(
            fill(json.dumps(obj))
        )
        for target, obj in recorded.items()
    }


# --- TaskManager pods ------------------------------------------------------------------------


def pod_disagreements(request: Request, run: Run) -> list[str]:
    """What is wrong with the TaskManager pod that a run printed."""
    if run.exit_code != 0:
        return [f"exit code {run.exit_code}: {run.stderr[-400:]!r}"]
    namespace = _object(request).namespace
    recorded = normal_form(request.body, namespace)
    printed = normal_form(json.loads(run.stdout), namespace)
    _accept_run_time_values(recorded, printed)
    return [
        f"{path} is {seen!r}, expected {expected!r}"
        for path, expected, seen in differences(recorded, printed, "pod:")
    ] + _nothing_sent(run)


def _accept_run_time_values(recorded: JsonObject, printed: JsonObject) -> None:
    """Addresses and random ports that only a running JobManager knows may be any."""
    host_network = recorded["spec"].get("hostNetwork") is True
    seen = _properties(printed)
    properties = _properties(recorded)
    for key, value in list(properties.items()):
        random_port = host_network and value.isdigit() and int(value) >= FIRST_RANDOM_PORT
        own_address = key in ("jobmanager.rpc.address", "rest.address") and value == "127.0.0.1"
        if key in seen and ((random_port and seen[key].isdigit()) or own_address):
            properties[key] = seen[key]


def _properties(pod: JsonObject) -> dict[str, str]:
    for container in pod["spec"].get("containers", {}).values():
        command = container.get("args")
        if isinstance(command, dict):
            properties: dict[str, str] = command["properties"]
            return properties
    return {}


# --- normal forms ----------------------------------------------------------------------------


def differences(expected: Any, seen: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Path, expected and seen value of everything that differs; `...` for what is not there."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in {**expected, **seen}:
            yield from differences(expected.get(key, ...), seen.get(key, ...), f"{path}.{key}")
    elif type(expected) is not type(seen) or expected != seen:
        yield path, expected, seen


def normal_form(obj: JsonObject, namespace: str | None) -> JsonObject:
    """An object that is equal to another one's normal form if Kubernetes makes no difference.

    Lists with names become mappings (the later entry of a name wins, as it does for environment
    variables), quantities numbers, configuration files and pod templates in ConfigMaps their
    content, the arguments of a TaskManager a mapping of options.
    """
    obj = json.loads(json.dumps(obj))
    obj.pop("status", None)
    data = obj["metadata"]
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        data.pop(name, None)
    if data.get("namespace") == namespace:
        data.pop("namespace", None)
    for owner in data.get("ownerReferences") or ():
        owner["uid"] = "(checked elsewhere)"
    if obj.get("kind") == "ConfigMap":
        obj["data"] = {name: _file(name, text) for name, text in (obj.get("data") or {}).items()}
    elif obj.get("kind") == "Deployment":
        template = obj["spec"]["template"]
        template["spec"] = _pod_spec(template["spec"])
    elif obj.get("kind") == "Pod":
        obj["spec"] = _pod_spec(obj.get("spec") or {})
    return dict(obj)


def _accept_restart_policy(recorded: JsonObject, seen: JsonObject) -> None:
    """A Deployment's pods have no other policy than Always, written or not."""
    if recorded.get("kind") == seen.get("kind") == "Deployment":
        left, right = recorded["spec"]["template"]["spec"], seen["spec"]["template"]["spec"]
        if right.get("restartPolicy") == "Always":
            left["restartPolicy"] = "Always"


_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
}


def _pod_spec(spec: JsonObject) -> JsonObject:
    return {name: _pod_field(name, value) for name, value in spec.items()}


def _pod_field(name: str, value: Any) -> Any:
    if name in ("requests", "limits") and isinstance(value, dict):
        return {resource: quantity(amount) for resource, amount in value.items()}
    if name in ("sizeLimit", "divisor"):
        return quantity(value)
    if name == "items" and isinstance(value, list):
        return sorted(json.dumps(item, sort_keys=True) for item in value)
    if name == "args" and isinstance(value, list):
        return taskmanager_command(value)
    if name == "ports" and isinstance(value, list):
        return _ports(value)
    if name == "tolerations" and isinstance(value, list):
        return list({json.dumps(item, sort_keys=True): None for item in value})
    if isinstance(value, list):
        items = [_pod_field("", item) for item in value]
        key = _KEYS.get(name)
        return {item[key]: item for item in items} if key else items
    if isinstance(value, dict):
        return {field: _pod_field(field, inner) for field, inner in value.items()}
    return value


def _ports(ports: Sequence[JsonObject]) -> list[JsonObject]:
    """The later of two ports with one name or one number wins."""
    kept: list[JsonObject] = []
    for port in ports:
        kept = [
            old
            for old in kept
            if old.get("name", ...) != port.get("name")
            and old["containerPort"] != port["containerPort"]
        ]
        kept.append(port)
    return sorted(kept, key=lambda port: int(port["containerPort"]))


_FACTORS = {"n": "1e-9", "u": "1e-6", "m": "1e-3", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12"}


def quantity(value: Any) -> Any:
    """An amount as a number; what is none stays as it is."""
    match = re.fullmatch(r"([-+]?[\d.]+)(?:([numkMGTPE])(i?))?", str(value))
    if match is None or isinstance(value, bool):
        return value
    if match[3]:
        return Decimal(match[1]) * 1024 ** ("KMGTPE".index(match[2].upper()) + 1)
    return Decimal(match[1]) * Decimal(_FACTORS.get(match[2] or "", "1"))


def taskmanager_command(args: Sequence[str]) -> Any:
    """`kubernetes-taskmanager.sh -Dk='v' ... -D k=v ...` as mappings; other arguments as lists."""
    if args[:2] != ["bash", "-c"] or "kubernetes-taskmanager.sh" not in args[2]:
        return list(args)
    script, *words = re.findall(r"(?:[^\s'\"\\]|\\.|'[^']*'|\"(?:\\.|[^\"\\])*\")+", args[2])
    properties: dict[str, str] = {}
    while words and words[0].startswith("-D") and words[0] != "-D":
        key, _, value = shlex.split(words.pop(0)[2:])[0].partition("=")
        properties[key] = value
    resources: dict[str, str] = {}
    while words and words[0] == "-D":
        key, _, value = shlex.split(words[1])[0].partition("=")
        resources[key] = value
        words = words[2:]
    properties.pop("web.tmpdir", None)  # random
    return {"script": script, "properties": properties, "resources": resources, "tail": words}


def _file(name: str, text: str) -> Any:
    if name == "config.yaml":
        return dict(_flat(core_yaml(text) or {}))
    if name == "flink-conf.yaml":
        lines = [line for line in text.splitlines() if line.strip()]
        return dict(line.partition(": ")[::2] for line in lines)
    if name.endswith("pod-template.yaml"):
        return yaml.safe_load(text)
    return text


def _flat(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in mapping.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


class _CoreLoader(yaml.SafeLoader):
    """YAML 1.2: `yes`, `on` and `012` are what they look like."""


_CoreLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _CoreLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), list(_first)
    )
_CoreLoader.add_constructor(
    "tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node))
)


def core_yaml(text: str) -> Any:
    """The document as a YAML 1.2 core schema reader takes it."""
    return yaml.load(text, Loader=_CoreLoader)
