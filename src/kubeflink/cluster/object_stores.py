"""Object stores as this side reaches them, told by the options that Flink's file systems read.

A store is written to with `fsspec`, whose implementation for it is an extra of this package. Flink
does the same in the JobManager with a plug-in of its image, which is configured by `s3.*`,
`fs.s3a.*`, `fs.gs.*` and the like. Whoever has such a configuration expects one endpoint and one
account on both sides, so what has a counterpart in the implementation is carried over; the rest is
the store's usual environment (`AWS_*`, `GOOGLE_APPLICATION_CREDENTIALS`, `AZURE_STORAGE_*`).

S3, Google's and Azure's stores show an object when it is complete. The others show what is being
written, so there a name of its own comes first, and the right one at the end.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from kubeflink.config import Configuration
from kubeflink.config.secrets import is_secret
from kubeflink.errors import ConfigurationError

FileSystem: TypeAlias = Any
"""An `fsspec.AbstractFileSystem`; the library has no types."""

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 60.0

_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class Target:
    """The directory in a store that `uri` names, and its file system."""

    uri: str
    directory: str
    """As the file system names it, without a slash at its end."""
    files: FileSystem
    is_atomic: bool
    """Whether an object is seen only when it is complete."""
    account: str
    """How an account is named, for a hint."""
    way: str
    """How the store itself is named, for a hint."""
    secrets: tuple[str, ...] = ()
    """What no message may show."""

    def reason(self, error: Exception) -> str:
        """What a library's error says, in one line and without secrets."""
        if _is_silence(error):
            return "the store gave no answer in time"
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and error.errno is not None and error.strerror:
            text = error.strerror
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def hint(self, error: Exception) -> str | None:
        """The way out where an error is about who asks, or about the way to the store."""
        if _is_silence(error):
            return _way_hint(self.way)
        is_refused = isinstance(error, PermissionError)
        if is_refused or _ABOUT_ACCOUNTS.search(f"{type(error).__name__} {error}"):
            return self.account
        return None

    def close(self) -> None:
        """Ends the connections of a file system that keeps some."""
        session = getattr(self.files, "_s3", None)
        if session is not None:
            self.files.close_session(self.files.loop, session)


_ABOUT_ACCOUNTS: Final = re.compile(
    r"credential|access key|forbidden|unauthorized|anonymous caller|\b40[13]\b", re.IGNORECASE
)


def _is_silence(error: Exception) -> bool:
    """Whether a library gave up waiting; each has an error of its own for that."""
    return isinstance(error, TimeoutError) or "timeout" in type(error).__name__.lower()


@dataclass(frozen=True, slots=True)
class _Store:
    """A kind of store: the implementation, the extra that brings it, and how it is configured."""

    protocol: str
    package: str
    extra: str
    is_atomic: bool
    account: str
    way: str
    """By what the store is named."""
    arguments: Callable[[Configuration, str], dict[str, Any]]
    """Given the configuration and the target's authority (`bucket`, `container@account.host`)."""
    opening: str | None = None
    """What the implementation needs here before anything is sent, if it is not an account."""


def is_object_store(uri: str) -> bool:
    """Whether a URI names a store that can be written from here, with its extra."""
    return urlsplit(uri).scheme.lower() in _STORES


def schemes() -> str:
    """The schemes, for messages."""
    return ", ".join(f"{scheme}://" for scheme in _STORES)


def way_hint(uri: str) -> str:
    """What to look at where the store of a URI does not answer."""
    return _way_hint(_STORES[urlsplit(uri).scheme.lower()].way)


def _way_hint(way: str) -> str:
    return f"Is {way} right, and does a firewall or a proxy stand in between?"


def checked(uri: str) -> str:
    """The URI of a directory in the form that Flink gives it: no slash doubled, none at its end.

    Raises ConfigurationError if it names no bucket or if the library for it is not installed.
    """
    parts = urlsplit(uri)
    store = _STORES[parts.scheme.lower()]
    if not parts.netloc:
        raise ConfigurationError(f"{uri} names no bucket", hint="Write SCHEME://BUCKET/DIRECTORY")
    if any(find_spec(package) is None for package in ("fsspec", store.package)):
        raise ConfigurationError(
            f"writing to {uri} needs the Python package {store.package}",
            hint=f"Install it: pip install 'kubeflink[{store.extra}]'",
        )
    path = "".join(f"/{part}" for part in parts.path.split("/") if part)
    return f"{parts.scheme}://{parts.netloc}{path}"


def arguments(uri: str, configuration: Configuration) -> dict[str, Any]:
    """What the implementation for a URI is given of a configuration; may hold secrets."""
    parts = urlsplit(uri)
    return _STORES[parts.scheme.lower()].arguments(configuration, parts.netloc)


def open_target(uri: str, configuration: Configuration) -> Target:
    """The directory that a URI names; at most an account is looked for.

    Raises ConfigurationError if the library for it is not installed or finds no way to begin, or
    the URI is incomplete.
    """
    parts = urlsplit(checked(uri))
    store = _STORES[parts.scheme.lower()]
    # Without any handler Python itself prints their warnings, of which none is for the user.
    logging.getLogger(store.package).addHandler(logging.NullHandler())
    given = arguments(uri, configuration)
    _check_key_file(store, given)
    try:
        files = _implementation(store)(skip_instance_cache=True, **given)
    except Exception as error:  # each library has a tree of errors of its own
        told = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise ConfigurationError(
            f"{uri} cannot be written from here: {told}", hint=store.opening or store.account
        ) from error
    container = "" if store.protocol == "hdfs" else parts.netloc.rpartition("@")[0] or parts.netloc
    directory = f"{container}{parts.path}"
    return Target(
        uri, directory, files, store.is_atomic, store.account, store.way, _secrets(configuration)
    )


def _check_key_file(store: _Store, given: Mapping[str, Any]) -> None:
    """The library takes a path that leads nowhere for a token, and sends it."""
    token = given.get("token")
    if store is _GS and token not in (None, "anon") and not Path(token).is_file():
        raise ConfigurationError(
            f"the key file {token} is not on this machine",
            hint=f"gs.{_GS_KEY_FILE} counts for the upload too: put the file there",
        )


def _implementation(store: _Store) -> Callable[..., FileSystem]:
    if store is _GS:
        # What the library registers asks, by another protocol and for up to a minute for each file,
        # what kind of bucket it is. An endpoint of one's own does not know that, and nobody may ask
        # it without an account. Flink's plug-in writes as this class does.
        module: Any = importlib.import_module("gcsfs.core")
        implementation: Callable[..., FileSystem] = module.GCSFileSystem
    else:
        module = importlib.import_module("fsspec")
        implementation = module.get_filesystem_class(store.protocol)
    return implementation


def _secrets(configuration: Configuration) -> tuple[str, ...]:
    # A short value is no secret, and taking it out would garble the messages.
    found = (str(value) for key, value in configuration.items() if is_secret(key))
    return tuple(text for text in found if len(text) >= 4)


# -- S3 ---------------------------------------------------------------------------------------

_S3_PREFIXES: Final = ("presto.s3.", "s3.", "s3a.", "fs.s3a.")
"""Of Flink's two plug-ins for S3; Hadoop's own spelling counts most."""

_ANONYMOUS: Final = "AnonymousAWSCredentialsProvider"


def _s3_arguments(configuration: Configuration, bucket: str) -> dict[str, Any]:
    options = _with_prefixes(configuration, _S3_PREFIXES)
    of_bucket = f"bucket.{bucket.replace('-', '.')}."
    for key, text in list(options.items()):
        if key.startswith(of_bucket):
            options[key.removeprefix(of_bucket)] = text
    is_secure = options.get("connection.ssl.enabled", options.get("ssl.enabled", "true")) != "false"
    endpoint = options.get("endpoint.value") or options.get("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"{'https' if is_secure else 'http'}://{endpoint}"
    region = options.get("endpoint.region") or options.get("region")
    config: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "retries": {"max_attempts": _ATTEMPTS},
    }
    if options.get("path.style.access") == "true":
        config["s3"] = {"addressing_style": "path"}
    return _given(
        {
            "endpoint_url": endpoint,
            "key": options.get("access.key"),
            "secret": options.get("secret.key"),
            "token": options.get("session.token"),
            "anon": options.get("aws.credentials.provider", "").endswith(_ANONYMOUS) or None,
            "client_kwargs": {"region_name": region} if region else None,
            "config_kwargs": config,
            "use_listings_cache": False,
        }
    )


def _with_prefixes(configuration: Configuration, prefixes: tuple[str, ...]) -> dict[str, str]:
    """The options below some prefixes, by what follows them; a later prefix counts more.

    Words may be parted by `-` or by `.`, as the plug-ins take both (`s3.access-key`).
    """
    found: dict[str, str] = {}
    for prefix in prefixes:
        for key, text in configuration.with_prefix(prefix).items():
            found[key.replace("-", ".")] = text
    return found


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


# -- the others -------------------------------------------------------------------------------


_GS_KEY_FILE: Final = "auth.service.account.json.keyfile"


def _gs_arguments(configuration: Configuration, _bucket: str) -> dict[str, Any]:
    options = _with_prefixes(configuration, ("gs.", "fs.gs."))
    is_anonymous = options.get("auth.type") == "UNAUTHENTICATED"
    is_anonymous |= options.get("auth.null.enable") == "true"  # its older name
    return _given(
        {
            "token": "anon" if is_anonymous else options.get(_GS_KEY_FILE),
            "project": options.get("project.id"),
            "endpoint_url": options.get("storage.root.url"),
            "use_listings_cache": False,
        }
    )


def _azure_arguments(configuration: Configuration, authority: str) -> dict[str, Any]:
    host = authority.rpartition("@")[2] if "@" in authority else ""
    account = host.partition(".")[0] or None
    keys = {**configuration.with_prefix("azure."), **configuration.with_prefix("fs.azure.")}
    found = [keys.get(f"account.key.{host}"), keys.get("account.key")]
    found += [text for key, text in keys.items() if key.startswith(f"account.key.{account}.")]
    return _given(
        {
            "account_name": account,
            "account_key": next((text for text in found if text), None),
            "connection_timeout": int(CONNECT_SECONDS),
            "read_timeout": int(READ_SECONDS),
        }
    )


def _oss_arguments(configuration: Configuration, _bucket: str) -> dict[str, Any]:
    options = configuration.with_prefix("fs.oss.")
    endpoint = options.get("endpoint")
    if endpoint and "://" not in endpoint:
        endpoint = f"https://{endpoint}"
    return _given(
        {
            "endpoint": endpoint,
            "key": options.get("accessKeyId"),
            "secret": options.get("accessKeySecret"),
            "token": options.get("securityToken"),
        }
    )


def _hdfs_arguments(_configuration: Configuration, authority: str) -> dict[str, Any]:
    parts = urlsplit(f"hdfs://{authority}")
    return _given({"host": parts.hostname, "port": parts.port or 8020, "user": parts.username})


_S3: Final = _Store(
    "s3",
    package="s3fs",
    extra="s3",
    is_atomic=True,
    account="The account is s3.access-key and s3.secret-key of the configuration, or"
    " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what else the AWS libraries find",
    way="the address in s3.endpoint (by default Amazon's own)",
    arguments=_s3_arguments,
)
_GS: Final = _Store(
    "gs",
    package="gcsfs",
    extra="gs",
    is_atomic=True,
    account="The account is the file gs.auth.service.account.json.keyfile of the configuration, or"
    " GOOGLE_APPLICATION_CREDENTIALS",
    way="the address in gs.storage.root.url (by default Google's own)",
    arguments=_gs_arguments,
)
_AZURE: Final = _Store(
    "abfs",
    package="adlfs",
    extra="azure",
    is_atomic=True,
    account="The key is fs.azure.account.key.ACCOUNT.dfs.core.windows.net of the configuration, or"
    " AZURE_STORAGE_ACCOUNT_KEY",
    way="the account in the target",
    arguments=_azure_arguments,
)
_OSS: Final = _Store(
    "oss",
    package="ossfs",
    extra="oss",
    is_atomic=False,
    account="The account is fs.oss.accessKeyId and fs.oss.accessKeySecret of the configuration",
    way="the address in fs.oss.endpoint",
    arguments=_oss_arguments,
)
_HDFS: Final = _Store(
    "hdfs",
    package="pyarrow",
    extra="hdfs",
    is_atomic=False,
    account="The user is that of this machine, or the one in hdfs://USER@HOST:PORT",
    way="the host in the target",
    opening="Hadoop's own client is needed here: set JAVA_HOME, HADOOP_HOME and CLASSPATH (what"
    " `hadoop classpath --glob` prints)",
    arguments=_hdfs_arguments,
)

_STORES: Final = {
    "s3": _S3,
    "s3a": _S3,
    "gs": _GS,
    "abfs": _AZURE,
    "abfss": _AZURE,
    "oss": _OSS,
    "hdfs": _HDFS,
}
