"""What a container sees at /opt/flink."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from kubeflink.config.versions import FlinkVersion
from kubeflink.config.yaml import load_core
from kubeflink.jvm.flink_home import FlinkHome
from kubeflink.local.flink_image import FlinkImage, build_image, enable_plugins, logging_options
from kubeflink.local.volumes import Mount, Mounts

CONF = "/opt/flink/conf"


@pytest.fixture
def home(tmp_path: Path) -> FlinkHome:
    root = tmp_path / "home"
    for file in ("lib/flink-dist-2.3.0.jar", "lib/a.jar", "opt/o.jar", "plugins/s3/s3.jar"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return FlinkHome(root, FlinkVersion(2, 3, 0), root / "lib/flink-dist-2.3.0.jar")


def build(
    home: FlinkHome, tmp_path: Path, *mounts: Mount, files: tuple[Path, ...] = ()
) -> FlinkImage:
    return build_image(home, Mounts(mounts, files), tmp_path / "container", CONF)


def directory(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name.replace("_", ".")).write_text(text)
    return path


def test_lib_is_a_real_directory_with_links_to_the_jars(home: FlinkHome, tmp_path: Path) -> None:
    image = build(home, tmp_path)
    assert not (image.root / "lib").is_symlink()
    assert (image.root / "lib/a.jar").resolve() == home.lib / "a.jar"
    assert (image.root / "plugins/s3/s3.jar").exists()


def test_plugins_of_opt_are_enabled_as_by_the_image(home: FlinkHome, tmp_path: Path) -> None:
    (home.opt / "gs.jar").touch()
    image = build(home, tmp_path)

    assert enable_plugins(image, "o.jar;gs.jar") is None

    assert (image.root / "plugins/o/o.jar").resolve() == home.opt / "o.jar"
    assert (image.root / "plugins/gs/gs.jar").exists()
    assert not (home.plugins / "gs").exists()
    assert enable_plugins(image, "") is None


def test_a_plugin_that_the_image_does_not_have(home: FlinkHome, tmp_path: Path) -> None:
    assert enable_plugins(build(home, tmp_path), "gone.jar;o.jar") == "gone.jar"


def test_a_mount_below_opt_flink_hides_what_the_image_has(home: FlinkHome, tmp_path: Path) -> None:
    usrlib = directory(tmp_path / "usrlib", job_jar="")
    plugin = directory(tmp_path / "plugin", new_jar="")
    image = build(
        home, tmp_path, Mount("/opt/flink/usrlib", usrlib), Mount("/opt/flink/plugins/s3", plugin)
    )
    assert (image.root / "usrlib/job.jar").exists()
    assert [file.name for file in (image.root / "plugins/s3").iterdir()] == ["new.jar"]
    assert (home.plugins / "s3/s3.jar").exists()


def test_configuration_names_real_paths_but_kubernetes_options_keep_theirs(
    home: FlinkHome, tmp_path: Path
) -> None:
    text = (
        "pipeline:\n  jars:\n  - local:///opt/flink/usrlib/job.jar\n"
        "kubernetes:\n  flink.conf.dir: /opt/flink/conf\n  secrets: s:/opt/flink/secret\n"
        "state.dir: /opt/flink/state\nnumber: 7\n"
    )
    conf = directory(tmp_path / "mounted", config_yaml=text)
    image = build(home, tmp_path, Mount(CONF, conf))
    written = load_core((image.conf / "config.yaml").read_text(), "").value
    assert written == {
        "pipeline": {"jars": [f"local://{image.root}/usrlib/job.jar"]},
        "kubernetes": {"flink.conf.dir": CONF, "secrets": "s:/opt/flink/secret"},
        "state.dir": f"{image.root}/state",
        "number": 7,
    }
    assert (conf / "config.yaml").read_text() == text


def test_the_flat_file_of_old_versions_is_rewritten_line_by_line(
    home: FlinkHome, tmp_path: Path
) -> None:
    text = "a: /opt/flink/x\nkubernetes.secrets: s:/opt/flink/y\n# /opt/flink/z\n"
    (directory(tmp_path / "mounted") / "flink-conf.yaml").write_text(text)
    image = build(home, tmp_path, Mount(CONF, tmp_path / "mounted"))
    lines = (image.conf / "flink-conf.yaml").read_text().splitlines()
    assert lines[:2] == [f"a: {image.root}/x", "kubernetes.secrets: s:/opt/flink/y"]


def test_a_file_mounted_into_the_configuration_directory_is_in_it(
    home: FlinkHome, tmp_path: Path
) -> None:
    conf = directory(tmp_path / "mounted", config_yaml="a: 1\n")
    log4j = directory(tmp_path / "other", log4j_properties="x") / "log4j.properties"
    image = build(
        home, tmp_path, Mount(CONF, conf), Mount(f"{CONF}/log4j-console.properties", log4j)
    )
    assert sorted(file.name for file in image.conf.iterdir()) == [
        "config.yaml",
        "log4j-console.properties",
    ]


def test_pods_without_a_logging_configuration_log_all_the_same(
    home: FlinkHome, tmp_path: Path
) -> None:
    assert Path(configured(build(home, tmp_path))).is_file()


def configured(image: FlinkImage) -> str:
    """The file that the JVM is told to log by."""
    (option,) = (
        option
        for option in logging_options(image, image.logs / "log")
        if option.startswith("-Dlog4j.configurationFile=")
    )
    return unquote(urlsplit(option.partition("=")[2]).path)


def test_logging_is_found_where_a_directory_has_any_name(home: FlinkHome, tmp_path: Path) -> None:
    """It is named by a URI, and a JVM that does not find it logs nothing."""
    log4j = directory(tmp_path / "other", log4j_properties="x") / "log4j.properties"
    odd = tmp_path / "ü 100%20 #1"
    image = build(home, odd, Mount(f"{CONF}/log4j-console.properties", log4j))
    assert configured(image) == str(image.conf / "log4j-console.properties")


def test_binary_files_stay_as_they_are(home: FlinkHome, tmp_path: Path) -> None:
    conf = tmp_path / "mounted"
    conf.mkdir()
    (conf / "keystore").write_bytes(b"\xff\xfe/opt/flink/conf")
    image = build(home, tmp_path, Mount(CONF, conf))
    assert (image.conf / "keystore").read_bytes() == b"\xff\xfe/opt/flink/conf"
