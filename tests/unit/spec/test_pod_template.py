"""Pod templates are read along Kubernetes' schema, and what is strange in them is told."""

from __future__ import annotations

import json

import pytest

from kubeflink.config import FlinkVersion
from kubeflink.errors import TemplateError
from kubeflink.spec.pod_template import PodTemplate
from kubeflink.spec.schema import pod_schema
from kubeflink.spec.template_reader import read_pod_template

NEW, OLD = FlinkVersion.parse("2.3"), FlinkVersion.parse("1.17")


def read(text: str, version: FlinkVersion = NEW) -> PodTemplate:
    return read_pod_template(text, "pod.yaml", version)


def told(template: PodTemplate) -> str:
    return "\n".join(notice.message for notice in template.notices)


WHOLE = """
apiVersion: v1
kind: Pod
metadata:
  labels: {team: data}
spec:
  nodeSelector: {disk: ssd}
  containers:
    - name: sidecar
      image: exporter:1
    - name: flink-main-container
      env: [{name: A, value: "1"}]
      livenessProbe: {httpGet: {path: /x, port: 8081}}
  volumes:
    - {name: scratch, emptyDir: {}}
"""


def test_the_main_container_is_held_apart() -> None:
    template = read(WHOLE)

    assert template.metadata == {"labels": {"team": "data"}}
    assert [each["name"] for each in template.spec["containers"]] == ["sidecar"]
    assert template.main_container["env"] == [{"name": "A", "value": "1"}]
    assert template.main_container["livenessProbe"]["httpGet"]["port"] == 8081
    assert template.spec["volumes"] == [{"name": "scratch", "emptyDir": {}}]
    assert template.text == WHOLE
    assert template.notices == ()


def test_json_is_a_template_too() -> None:
    assert read('{"kind": "Pod", "spec": {"priority": 5}}').spec["priority"] == 5


# --- what is told ----------------------------------------------------------------------------


def test_an_unknown_field_is_told_with_its_line_and_the_nearest_field() -> None:
    template = read("kind: Pod\nspec:\n  containers:\n  - name: x\n    imagePullPolcy: Always\n")

    assert "line 5" in told(template)
    assert "did you mean 'imagePullPolicy'" in told(template)
    # A newer Kubernetes may know it.
    assert template.spec["containers"][0]["imagePullPolcy"] == "Always"


def test_a_field_in_the_wrong_place_is_told_where_it_belongs() -> None:
    template = read("kind: Pod\nspec:\n  readinessProbe: {periodSeconds: 5}\n")

    assert "line 3" in told(template)
    assert "Container" in told(template)
    assert "indentation" in told(template)


def test_a_missing_main_container_names_the_one_that_was_meant() -> None:
    template = read("kind: Pod\nspec:\n  containers: [{name: log, image: a}, {name: main}]\n")

    assert template.main_container == {}
    assert "flink-main-container" in told(template)
    assert "'main'" in told(template)


def test_host_network_of_a_template_has_no_effect() -> None:
    template = read("kind: Pod\nspec: {hostNetwork: true, dnsPolicy: Default}\n")

    assert "kubernetes.hostnetwork.enabled" in told(template)


def test_an_entry_that_kubernetes_will_refuse_is_told() -> None:
    template = read("kind: Pod\nspec:\n  volumes:\n  - emptyDir: {}\n")

    assert "line 4: spec.volumes[0] has no name" in told(template)


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [b\n  c: }", "line 2 is no YAML"),
        ("", "is empty"),
        ("# nothing\n", "is empty"),
        ("- a\n", "describes no object"),
        ("kind: Pod\n---\nkind: Pod\n", "2 documents"),
        ("kind: Deployment\nspec: {}\n", "describes a Deployment"),
        ("kind: Pod\nspec:\n  containers: {name: x}\n", "line 3: spec.containers must be a list"),
        ("kind: Pod\nspec:\n- x\n", "line 3: spec must be a mapping"),
        ("spec:\n  priority: high\n", "line 2: spec.priority must be a whole number, not 'high'"),
        ("spec: {hostNetwork: yes}\n", "spec.hostNetwork must be true or false"),
        ("spec:\n  nodeName: [a]\n", "line 2: spec.nodeName must be text"),
        ("metadata: {name: a}\nmetadata: {}\n", "line 2: metadata is there twice"),
        ("metadata: {labels: &l {a: b}}\nspec: {nodeSelector: {<<: *l}}\n", "merge key"),
        ("spec:\n  containers:\n  - {name: x}\n  -\n", "line 4: spec.containers[1] is empty"),
        ("spec: {containers: [{env: [null]}]}\n", "spec.containers[0].env[0] is empty"),
        ("foo: &a [*a]\n", "contains itself"),
        ("spec: &a {foo: *a}\n", "line 1: spec cannot be read: an alias leads to something"),
        ("foo: " + "[" * 200 + "]" * 200, "line 1: the pod cannot be read: it is nested too"),
        ("foo: " + "{a: " * 200 + "}" * 200, "nested too deeply"),
        ("a: &a [x, y]\nb: [" + "*a, " * 1100 + "]", "too many aliases"),
        ("spec: {priority: " + "9" * 5000 + "}", "must be a whole number, not '999"),
        ("spec: {priority: '" + "9" * 5000 + "'}", "must be a whole number, not '999"),
        ("spec: {priority: 9223372036854775808}", "must be a whole number"),
        ("spec: {volumes: [{secret: {defaultMode: 0" + "7" * 5000 + "}}]}", "a whole number"),
        ('a: "\x07"\n', "characters that YAML forbids"),
    ],
)
def test_what_is_no_pod_is_refused_with_the_line(text: str, words: str) -> None:
    with pytest.raises(TemplateError) as caught:
        read(text)

    assert words in str(caught.value)
    assert "pod.yaml" in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "plain", ["2024-13-45", "2024-01-01 25:00:00", "0x_", "0b_", "=", "!foo a", "!!int a"]
)
def test_what_looks_like_a_value_of_yaml_11_and_is_none_is_refused(plain: str) -> None:
    with pytest.raises(TemplateError, match=r"line 1: metadata\.labels\.a has a value"):
        read(f"metadata: {{labels: {{a: {plain}}}}}", version=OLD)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_merge_that_has_no_end_is_refused(version: FlinkVersion) -> None:
    with pytest.raises(TemplateError, match=r"contains itself|merge key"):
        read("spec: &a {<<: *a}", version=version)


@pytest.mark.parametrize("version", [OLD, NEW])
def test_text_of_very_many_digits_stays_text(version: FlinkVersion) -> None:
    digits = "9" * 5000

    found = read(f"metadata: {{labels: {{a: {digits}}}}}", version=version)

    assert found.metadata == {"labels": {"a": digits}}
    assert found.notices == ()


# --- scalars ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "new", "old"),
    [
        ("1", "1", "1"),
        ("1.10", "1.1", "1.1"),
        ("1e3", "1000.0", "1000.0"),
        ("true", "true", "true"),
        ("yes", "yes", "true"),
        ("TRUE", "TRUE", "true"),
        ("010", "010", "8"),
        ("0x1F", "0x1F", "31"),
        ("0o17", "0o17", "0o17"),
        ("1_000", "1_000", "1000"),
        ("12:30", "12:30", "750"),
        ("2024-01-02", "2024-01-02", "1704153600000"),
        (".5", ".5", "0.5"),
        ("+5", "+5", "5"),
        ("9007199254740993", "9007199254740993", "9007199254740993"),
        ("'1.10'", "1.10", "1.10"),
        ('"yes"', "yes", "yes"),
    ],
)
def test_text_is_what_each_version_of_flink_makes_of_it(plain: str, new: str, old: str) -> None:
    """As seen with Flink 1.17.2, 1.19.3, 1.20.5, 2.0.2, 2.1.3, 2.2.1 and 2.3.0."""
    text = f"kind: Pod\nmetadata:\n  labels:\n    a: {plain}\n"

    assert read(text, NEW).metadata["labels"] == {"a": new}
    assert read(text, OLD).metadata["labels"] == {"a": old}
    for version, value in ((NEW, new), (OLD, old)):
        changed = value != plain.strip("'\"")
        assert ("line 4" in told(read(text, version))) is changed


@pytest.mark.parametrize(("mode", "number"), [("0644", 420), ("0o400", 256), ("420", 420)])
def test_a_file_mode_is_an_octal_number(mode: str, number: int) -> None:
    text = f"spec: {{volumes: [{{name: a, secret: {{secretName: s, defaultMode: {mode}}}}}]}}"

    assert read(text).spec["volumes"][0]["secret"]["defaultMode"] == number


def test_numbers_and_booleans_may_be_quoted() -> None:
    spec = read('spec: {priority: "5", automountServiceAccountToken: "true"}').spec

    assert spec["priority"] == 5
    assert spec["automountServiceAccountToken"] is True


def test_what_flink_does_not_send_is_not_there() -> None:
    text = """
metadata: {annotations: {}, name: null}
spec:
  tolerations: []
  nodeSelector: {}
  securityContext: {}
  containers: [{name: a, command: [], securityContext: {capabilities: {add: [X], drop: []}}}]
"""
    template = read(text)

    assert template.metadata == {}
    assert "tolerations" not in template.spec
    assert "nodeSelector" not in template.spec
    assert template.spec["securityContext"] == {}
    (container,) = template.spec["containers"]
    assert container == {"name": "a", "securityContext": {"capabilities": {"add": ["X"]}}}
    # The oldest version sends empty mappings.
    assert read(text, OLD).metadata == {"annotations": {}}


def test_aliases_stand_for_what_they_name() -> None:
    template = read("metadata: {labels: &l {a: b}}\nspec: {nodeSelector: *l}\n")

    assert template.spec["nodeSelector"] == {"a": "b"}


def test_the_oldest_version_has_merge_keys() -> None:
    text = "metadata: {labels: &l {a: b, c: d}}\nspec: {nodeSelector: {<<: *l, c: e}}\n"

    assert read(text, OLD).spec["nodeSelector"] == {"a": "b", "c": "e"}


# --- the schema ------------------------------------------------------------------------------


def test_the_schema_is_complete_in_itself() -> None:
    """Every type that a field has is described, so that no part of a pod goes unread."""
    schema = pod_schema()
    scalars = {"str", "int", "float", "bool", "intstr", "any"}
    waiting, seen = ["Pod"], set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            fields = schema.fields(name)
            assert fields is not None, name
            waiting += {field.name for field in fields.values()} - scalars

    assert {"Container", "Volume", "Probe", "Toleration", "Affinity"} <= seen


def test_the_schema_is_that_of_the_installed_models() -> None:
    """`scripts/pod_schema` has been run since lightkube-models was last raised."""
    from lightkube.models import core_v1

    schema = pod_schema()
    for name in ("PodSpec", "Container", "Volume", "ObjectFieldSelector"):
        fields = schema.fields(name)
        assert fields is not None
        assert set(fields) == set(json.loads(json.dumps(_names(getattr(core_v1, name)))))


def _names(model: type) -> list[str]:
    import msgspec

    return [field.encode_name for field in msgspec.structs.fields(model)]
