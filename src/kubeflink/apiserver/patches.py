"""JSON merge patch (RFC 7386) and JSON patch (RFC 6902): pure functions on JSON values.

Strategic merge is in `strategic`, server-side apply in `apply`. None of them changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kubeflink.apiserver import statuses
from kubeflink.apiserver.metadata import copy_json
from kubeflink.errors import ApiStatusError


def merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch merged in; a null in the patch removes a member."""
    if not isinstance(patch, dict):
        return copy_json(patch)
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def json_patch(target: Any, operations: Sequence[Any]) -> Any:
    """The target after all operations; 422 where one of them does not apply."""
    document = copy_json(target)
    for operation in operations:
        if not _is_operation(operation):
            raise statuses.bad_request(f"invalid JSON patch operation: {operation!r}")
        try:
            document = _OPERATIONS[operation["op"]](document, operation)
        except (LookupError, TypeError, ValueError) as error:
            raise _refused(operation, error) from error
    return document


def _is_operation(operation: Any) -> bool:
    return (
        isinstance(operation, dict)
        and all(isinstance(operation.get(key, ""), str) for key in ("op", "path", "from"))
        and operation.get("op") in _OPERATIONS
    )


def _refused(operation: dict[str, Any], error: Exception) -> ApiStatusError:
    missing = f"missing {error}" if isinstance(error, LookupError) else str(error)
    return statuses.failure(
        422,
        f"the server rejected our request due to an error in our request: {operation['op']} "
        f"operation does not apply: doc is missing path: {operation.get('path')}: {missing}",
    )


def _tokens(pointer: str) -> list[str]:
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"a path begins with a slash, not as {pointer!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def _index(items: list[Any], token: str, *, inserting: bool = False) -> int:
    if inserting and token == "-":
        return len(items)
    if not token.isascii() or not token.isdigit() or (len(token) > 1 and token[0] == "0"):
        raise ValueError(f"{token!r} is no index")
    index = int(token)
    if index >= len(items) + inserting:
        raise IndexError(f"index {index}")
    return index


def _child(value: Any, token: str) -> Any:
    if isinstance(value, list):
        return value[_index(value, token)]
    if not isinstance(value, dict):
        raise ValueError(f"{token!r} is looked for in a scalar")
    return value[token]


def _read(document: Any, pointer: str) -> Any:
    for token in _tokens(pointer):
        document = _child(document, token)
    return document


def _parent(document: Any, pointer: str) -> tuple[Any, str]:
    *path, last = _tokens(pointer)
    for token in path:
        document = _child(document, token)
    return document, last


def _add_at(document: Any, pointer: str, value: Any) -> Any:
    if not _tokens(pointer):
        return value
    parent, last = _parent(document, pointer)
    if isinstance(parent, list):
        parent.insert(_index(parent, last, inserting=True), value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise ValueError(f"{last!r} cannot be added to a scalar")
    return document


def _remove_at(document: Any, pointer: str) -> Any:
    parent, last = _parent(document, pointer)
    if isinstance(parent, list):
        del parent[_index(parent, last)]
    else:
        del parent[last]
    return document


def _add(document: Any, operation: dict[str, Any]) -> Any:
    return _add_at(document, operation["path"], copy_json(operation["value"]))


def _remove(document: Any, operation: dict[str, Any]) -> Any:
    return _remove_at(document, operation["path"])


def _replace(document: Any, operation: dict[str, Any]) -> Any:
    _read(document, operation["path"])
    if operation["path"]:
        document = _remove_at(document, operation["path"])
    return _add(document, operation)


def _move(document: Any, operation: dict[str, Any]) -> Any:
    value = _read(document, operation["from"])
    return _add_at(_remove_at(document, operation["from"]), operation["path"], value)


def _copy(document: Any, operation: dict[str, Any]) -> Any:
    return _add_at(document, operation["path"], copy_json(_read(document, operation["from"])))


def _test(document: Any, operation: dict[str, Any]) -> Any:
    if _read(document, operation["path"]) != operation["value"]:
        raise ValueError("testing value failed")
    return document


_OPERATIONS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
