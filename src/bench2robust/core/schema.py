"""As much of JSON Schema as descriptions of tools use: is a schema one, and does a value fit it?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_ALTERNATIVES: Final = ("anyOf", "oneOf", "allOf")
_SHOWN: Final = 80
"""Characters of a value that a message shows."""


def faults(schema: Any) -> Iterator[str]:
    """Yield what is wrong with the schema of a tool's arguments."""
    try:
        json.dumps(schema)
    except (TypeError, ValueError) as error:
        yield f"expected JSON, got an error: {error}"
        return
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        yield f"expected the schema of an object, got {schema!r}"
        return
    if not isinstance(schema.get("properties"), Mapping):
        yield f"expected properties, got {schema.get('properties')!r}"
        return
    yield from _faults(schema, schema, "parameters")


def _faults(schema: Any, root: Schema, where: str) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where}: expected a schema, got {schema!r}"
        return
    yield from (f"{where}: {fault}" for fault in _own_faults(schema, root))
    for name, inner in _inner(schema):
        yield from _faults(inner, root, f"{where}.{name}")


def _own_faults(schema: Schema, root: Schema) -> Iterator[str]:
    if "$ref" in schema and _resolved(schema, root) is None:
        yield f"nothing under $ref={schema['$ref']!r}"
    for name in _types(schema):
        if name not in _TYPES:
            yield f"unknown type={name!r}"
    for name in schema.get("required", ()):
        if name not in schema.get("properties", {}):
            yield f"required={name!r} is no property"
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        yield f"expected a list of values, got enum={schema['enum']!r}"


def _inner(schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield the schemas in a schema."""
    yield from schema.get("properties", {}).items()
    if "items" in schema:
        yield "items", schema["items"]
    for key in _ALTERNATIVES:
        for inner in schema.get(key, ()):
            yield key, inner


def misfits(value: Any, schema: Any, root: Schema | None = None, where: str = "arguments") -> Iterator[str]:
    """Yield where a value does not fit a schema that has no faults."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        if not schema:
            yield f"{where}: nothing fits, got {_cut(value)}"
    elif "$ref" in schema:
        yield from misfits(value, _resolved(schema, root), root, where)
    elif (types := _types(schema)) and not any(_is(value, name) for name in types):
        yield f"{where}: expected {' or '.join(types)}, got {_cut(value)}"
    else:
        yield from (f"{where}: {problem}, got {_cut(value)}" for problem in _outside(value, schema))
        yield from _alternative_misfits(value, schema, root, where)
        if isinstance(value, Mapping):
            yield from _object_misfits(value, schema, root, where)
        elif isinstance(value, list | tuple) and "items" in schema:
            for place, item in enumerate(value):
                yield from misfits(item, schema["items"], root, f"{where}.{place}")


def _alternative_misfits(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[str]:
    for key in ("anyOf", "oneOf"):
        if key in schema and not any(not list(misfits(value, s, root, where)) for s in schema[key]):
            yield f"{where}: fits none of {key}, got {_cut(value)}"
    for inner in schema.get("allOf", ()):
        yield from misfits(value, inner, root, where)


def _object_misfits(value: Mapping[str, Any], schema: Schema, root: Schema, where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}: {name!r} is missing"
    others = schema.get("additionalProperties", where != "arguments")  # a tool takes what it says it takes
    for name, item in value.items():
        if name in properties:
            yield from misfits(item, properties[name], root, f"{where}.{name}")
        elif others is False:
            yield f"{where}: unknown {name!r}"
        elif isinstance(others, Mapping):
            yield from misfits(item, others, root, f"{where}.{name}")


def _outside(value: Any, schema: Schema) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"expected one of {schema['enum']!r}"
    if "const" in schema and value != schema["const"]:
        yield f"expected {schema['const']!r}"
    if _is(value, "number"):
        if "minimum" in schema and value < schema["minimum"]:
            yield f"expected at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            yield f"expected at most {schema['maximum']}"


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _types(schema: Schema) -> tuple[str, ...]:
    found = schema.get("type", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()  # to JSON Schema, 2.0 is an integer
    return isinstance(value, _TYPES[name])


def _resolved(schema: Schema, root: Schema) -> Any:
    found: Any = root
    for key in str(schema["$ref"]).removeprefix("#/").split("/"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
