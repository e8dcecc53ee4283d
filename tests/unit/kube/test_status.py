"""Answers and broken connections in words."""

from __future__ import annotations

import socket
import ssl
from dataclasses import replace

import httpx2
import pytest

from kubeflink import errors, objects
from kubeflink.kube import status
from kubeflink.kube.access import ClusterAccess
from kubeflink.kube.status import Call

ACCESS = ClusterAccess(
    server="https://kube:6443", namespace="flink-jobs", origin="a file", context="c", user_name="u"
)
CALL = Call("list", objects.PODS, "flink-jobs")


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (ACCESS, 'user "u" (context "c")'),
        (replace(ACCESS, user_name=None), 'context "c", which names no user'),
        (replace(ACCESS, in_cluster=True), "the pod's service account"),
    ],
)
def test_401_says_whose_credentials_they_are(access: ClusterAccess, words: str) -> None:
    error = status.error_of(401, None, CALL, access)

    assert isinstance(error, errors.UnauthorizedError)
    assert words in error.message
    assert access.server in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx2.ConnectTimeout("x"), "no connection within the time limit"),
        (httpx2.ReadTimeout("x"), "no answer within the time limit"),
        (httpx2.ReadError("x"), "the connection broke before the answer"),
        (httpx2.RemoteProtocolError("x"), "the connection broke before the answer"),
        (httpx2.ProxyError("407 Proxy Authentication Required"), "the proxy refused (407 Proxy"),
        (httpx2.UnsupportedProtocol("what is this"), "what is this"),
        (httpx2.ConnectError(""), "ConnectError"),
        (
            caused(httpx2.ConnectError("x"), ExceptionGroup("all", [ConnectionRefusedError()])),
            "connection refused",
        ),
        (caused(httpx2.ConnectError("x"), socket.gaierror(-2, "x")), "name cannot be resolved"),
        (caused(httpx2.ReadError("x"), ssl.SSLError(1, "alert")), "TLS failed"),
    ],
)
def test_causes_are_in_plain_words(error: httpx2.RequestError, words: str) -> None:
    told = status.unreachable(error, ACCESS)

    assert words in told.message
    assert ACCESS.server in told.message
    assert len(str(told).splitlines()) <= 3


def test_a_proxy_is_named_without_its_password() -> None:
    access = replace(ACCESS, proxy_url="http://me:s3cret@proxy:3128/")

    told = status.unreachable(httpx2.ConnectTimeout("x"), access)

    assert "http://proxy:3128" in str(told)
    assert "s3cret" not in str(told)
    assert "s3cret" not in repr(access)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("7", 7.0),
        (" 7 ", 7.0),
        ("soon", None),
        ("", None),
        ("-3", None),
        ("\u00b2", None),  # a digit, and no number
        ("Mon, 01 Jan 2020 00:00:00 +99999999999999999999", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", 0.0),
    ],
)
def test_retry_after(header: str | None, expected: float | None) -> None:
    assert status.retry_after(header) == expected


def test_a_date_that_has_passed_asks_for_no_pause() -> None:
    assert status.retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0


def test_details_may_say_when_to_come_back() -> None:
    body = {"kind": "Status", "message": "busy", "details": {"retryAfterSeconds": 4}}

    assert status.error_of(429, body, CALL, ACCESS).retry_after == 4.0


def test_details_may_wish_for_longer_than_a_number_of_seconds_can_be() -> None:
    body = {"kind": "Status", "message": "busy", "details": {"retryAfterSeconds": 10**400}}

    wanted = status.error_of(429, body, CALL, ACCESS).retry_after

    assert wanted is not None
    assert wanted > 1e8


@pytest.mark.parametrize("wanted", ["soon", None, {}, -4])
def test_details_may_say_anything(wanted: object) -> None:
    body = {"kind": "Status", "message": "busy", "details": {"retryAfterSeconds": wanted}}

    assert status.error_of(429, body, CALL, ACCESS).retry_after is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (CALL, 'list pods in namespace "flink-jobs"'),
        (Call("get", objects.NODES, None, "n"), "get nodes n"),
        (
            Call("get", objects.DEPLOYMENTS, "w", "d", "scale"),
            'get deployments.apps/scale d in namespace "w"',
        ),
    ],
)
def test_a_call_in_words(call: Call, words: str) -> None:
    assert str(call) == words


def test_what_surely_was_not_sent() -> None:
    assert not status.was_sent(httpx2.ConnectError("x"))
    assert not status.was_sent(httpx2.ConnectTimeout("x"))
    assert status.was_sent(httpx2.ReadTimeout("x"))
    assert status.was_sent(httpx2.RemoteProtocolError("x"))


def test_a_namespace_that_is_missing_can_be_made_or_changed() -> None:
    call = Call("create", objects.DEPLOYMENTS, "nope", "demo")
    details = {"kind": "namespaces", "name": "nope"}
    answer = {"message": 'namespaces "nope" not found', "details": details}

    error = status.error_of(404, answer, call, ACCESS)
    assert error.message == 'namespaces "nope" not found'
    assert error.hint == (
        "Create it: kubectl create namespace nope; or name another one by kubernetes.namespace"
    )
    details["kind"] = "services"
    assert status.error_of(404, answer, call, ACCESS).hint is None
