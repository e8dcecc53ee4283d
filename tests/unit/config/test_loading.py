"""Files, `-D` and keywords, and what is wrong with them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeflink.config import Configuration, load
from kubeflink.config.options import kubernetes, pipeline
from kubeflink.errors import ConfigurationError


def load_file(tmp_path: Path, text: str, version: str = "2.3", **more: object) -> Configuration:
    name = "config.yaml" if version >= "1.19" else "flink-conf.yaml"
    (tmp_path / name).write_text(text, encoding="utf-8")
    return load(conf_dir=tmp_path, version=version, environ={}, **more)  # type: ignore[arg-type]


def notices(configuration: Configuration) -> list[str]:
    return [notice.message for notice in configuration.notices]


def test_without_anything_the_configuration_is_empty_and_the_newest_version() -> None:
    configuration = load(environ={})

    assert len(configuration) == 0
    assert str(configuration.version) == "2.3.0"
    assert configuration.conf_dir is None


def test_directory_and_version_come_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "flink-conf.yaml").write_text("a: b\n")

    configuration = load(
        environ={"FLINK_CONF_DIR": str(tmp_path), "KUBEFLINK_FLINK_VERSION": "1.18"}
    )

    assert dict(configuration.items()) == {"a": "b"}
    assert str(configuration.version) == "1.18.1"
    assert configuration.conf_dir == tmp_path


def test_d_wins_over_the_file_and_keywords_over_both(tmp_path: Path) -> None:
    configuration = load_file(
        tmp_path,
        "a: file\nb: file\nc: 3\n",
        dynamic=[("a", "dynamic"), ("b", "dynamic")],
        overrides={"a": "keyword"},
    )

    assert dict(configuration.items()) == {"a": "keyword", "b": "dynamic", "c": 3}
    assert configuration.origin("a") == "keyword"
    assert configuration.origin("b") == "-D"
    assert configuration.origin("c") == f"{tmp_path}/config.yaml line 3"


def test_nested_and_flat_keys_of_a_file(tmp_path: Path) -> None:
    text = "a:\n  b: 1\n  c:\n    d: x\na.e: true\nlist: [1, 'a, b']\nnone: {}\n"

    assert dict(load_file(tmp_path, text).items()) == {
        "a.b": 1,
        "a.c.d": "x",
        "a.e": True,
        "list": "[1, 'a, b']",
    }


def test_keywords_of_python_types() -> None:
    configuration = load(
        environ={},
        overrides={
            "kubernetes.hostnetwork.enabled": True,
            "taskmanager.numberOfTaskSlots": 4,
            "slot.idle.timeout": timedelta(seconds=5),
            "kubernetes.jobmanager.labels": {"a": "b c", "url": "http://x, y"},
            "pipeline.jars": ["a.jar", "b;c.jar"],
            "kubernetes.config.file": Path("/k"),
        },
    )

    assert configuration.raw("kubernetes.hostnetwork.enabled") == "true"
    assert configuration.raw("slot.idle.timeout") == "5 s"
    assert configuration.raw("kubernetes.config.file") == "/k"
    assert configuration.get(kubernetes.JOBMANAGER_LABELS) == {"a": "b c", "url": "http://x, y"}


@pytest.mark.parametrize("version", ["1.18", "1.20", "2.3"])
@pytest.mark.parametrize(
    "labels", [{"a": "x: y"}, {"a b": "- c"}, {"k": "[1, 2]"}, {"u": "{a: b}"}]
)
def test_mappings_of_keywords_mean_the_same_to_every_version(
    version: str, labels: dict[str, str]
) -> None:
    configuration = load(
        environ={}, version=version, overrides={"kubernetes.jobmanager.annotations": labels}
    )

    assert configuration.get(kubernetes.JOBMANAGER_ANNOTATIONS) == labels


TEXTS = st.one_of(
    st.text("ab :;,'\"[]{}-#", max_size=8),
    st.sampled_from(["[a]", "- a", "{a: b}", "a: b", "null", "1e3"]),
)
NAMES = TEXTS.filter(lambda text: text.lstrip()[:1] not in ("{", "["))


@given(st.lists(TEXTS, max_size=3), st.sampled_from(["1.18", "1.20", "2.3"]))
def test_lists_of_keywords_mean_the_same_to_every_version(items: list[str], version: str) -> None:
    configuration = load(environ={}, version=version, overrides={"pipeline.jars": items})

    assert configuration.get(pipeline.JARS) == tuple(items)


@given(
    st.lists(st.dictionaries(NAMES, TEXTS, min_size=1, max_size=2), max_size=2),
    st.sampled_from(["1.18", "1.20", "2.3"]),
)
def test_lists_of_mappings_mean_the_same_to_every_version(
    items: list[dict[str, str]], version: str
) -> None:
    key = kubernetes.JOBMANAGER_OWNER_REFERENCE.key
    configuration = load(environ={}, version=version, overrides={key: items})

    references = configuration.get(kubernetes.JOBMANAGER_OWNER_REFERENCE)
    assert references == tuple(items)


def test_a_keyword_of_none_takes_a_key_away(tmp_path: Path) -> None:
    assert dict(load_file(tmp_path, "a: 1\nb: 2\n", overrides={"a": None}).items()) == {"b": 2}


def test_a_keyword_of_another_type_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="object"):
        load(environ={}, overrides={"a": object()})


# --- files that cannot be read ---------------------------------------------------------------


def test_a_directory_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match=r"/nope; FLINK_CONF_DIR points to it"):
        load(environ={"FLINK_CONF_DIR": "/nope"})


@pytest.mark.parametrize(
    ("present", "version", "message"),
    [
        ("flink-conf.yaml", "2.3", "no longer reads"),
        ("config.yaml", "1.18", "does not read yet"),
        (None, "1.20", "there is no config.yaml"),
    ],
)
def test_a_directory_without_the_right_file(
    tmp_path: Path, present: str | None, version: str, message: str
) -> None:
    if present is not None:
        (tmp_path / present).write_text("a: b\n")

    with pytest.raises(ConfigurationError, match=message):
        load(conf_dir=tmp_path, version=version, environ={})


def test_the_old_file_wins_in_1_20_and_stays_flat(tmp_path: Path) -> None:
    (tmp_path / "flink-conf.yaml").write_text("a: old\n")
    (tmp_path / "config.yaml").write_text("a: new\n")

    configuration = load(conf_dir=tmp_path, version="1.20", environ={})

    assert configuration.nested_or_flat_text() == ("flink-conf.yaml", "a: old\n")
    assert notices(configuration) == [
        "config.yaml is not read: Flink 1.20.5 prefers flink-conf.yaml"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: null\n", r"a has no value .*line 1"),
        ("x: 1\na:\n  b:\n", r"a\.b has no value .*line 3"),
        ("- a\n- b\n", "must be a mapping"),
        ("a: 1\na: 2\n", "'a' stands there twice"),
        ("a: {b: 1}\na.b: 2\n", r"a\.b stands there twice"),
        ("1: x\n", "the key '1' must be text"),
        ("a: !!binary aGk=\n", "cannot be of this YAML type"),
    ],
)
def test_what_flink_does_not_accept_in_a_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_file(tmp_path, text)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_bytes(b"a: \xff\xfe\n")

    with pytest.raises(ConfigurationError, match="no UTF-8"):
        load(conf_dir=tmp_path, environ={})


# --- -D --------------------------------------------------------------------------------------


def test_the_last_of_several_counts_with_a_notice() -> None:
    """R04: several dynamic properties, one of them twice, one with an equals sign in its value."""
    configuration = load(environ={}, dynamic=[("a", "1"), ("b", "2"), ("d", "x=y"), ("b", "3")])

    assert dict(configuration.items()) == {"a": "1", "b": "3", "d": "x=y"}
    assert notices(configuration) == ["-Db is given more than once: the last one counts"]


def test_a_key_without_a_value_is_true_where_that_can_be_meant() -> None:
    given = load(
        environ={}, dynamic=[("some.flag", None), ("kubernetes.hostnetwork.enabled", None)]
    )

    assert given.raw("some.flag") == "true"
    assert given.raw("kubernetes.hostnetwork.enabled") == "true"
    with pytest.raises(ConfigurationError, match=r"-Dkubernetes\.cluster-id has no value"):
        load(environ={}, dynamic=[("kubernetes.cluster-id", None)])


def test_text_that_no_locale_can_have_meant() -> None:
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load(environ={}, dynamic=[("a", "\udcff")])


# --- the old file ----------------------------------------------------------------------------


def test_a_hash_cuts_the_value_of_the_old_file(tmp_path: Path) -> None:
    """R108: `#` starts a comment anywhere, quoted or not; where something was cut, it is said."""
    configuration = load_file(tmp_path, 'k: a#b\nq: "a #b"\nz: x # fine\n', version="1.18")

    assert dict(configuration.items()) == {"k": "a", "q": '"a', "z": "x"}
    assert [notice.partition(":")[0] for notice in notices(configuration)] == ["k", "q"]


def test_a_hash_in_the_new_file_follows_yaml(tmp_path: Path) -> None:
    configuration = load_file(tmp_path, 'k: a#b\nq: "a #b"\nz: x # fine\n')

    assert dict(configuration.items()) == {"k": "a#b", "q": "a #b", "z": "x"}
    assert notices(configuration) == []


def test_lines_of_the_old_file_that_are_no_pairs_are_skipped_and_told(tmp_path: Path) -> None:
    configuration = load_file(tmp_path, "no colon\na:b\nk: v\nempty: \n\n# c\n", version="1.18")

    assert dict(configuration.items()) == {"k": "v"}
    assert len(notices(configuration)) == 3
