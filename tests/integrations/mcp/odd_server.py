"""An MCP server without an SDK, which counts the calls that reach it and misbehaves as it is told.

``count {"n": …}`` answers with the same number, as structured content with an output schema; what reached it is
appended to the file named by its argument. ``die``, ``garble``, ``print``, ``twice``, ``hang`` and ``slow`` do that.
"""

import json
import sys
import time

LOG = open(sys.argv[1], "a", buffering=1) if len(sys.argv) > 1 else None  # noqa: SIM115
SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 0, "maximum": 1_000_000},
        "state": {"enum": ["open", "closed"]},
        "words": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "note": {"type": "string"},
    },
    "required": ["n", "state", "words", "note"],
    "additionalProperties": False,
}
PLAIN = ("die", "garble", "print", "twice", "hang", "slow", "shout", "list")


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools():
    count = {"name": "count", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    return [count, *({"name": name, "inputSchema": {"type": "object"}} for name in PLAIN)]


def call(id_, name, arguments):
    if LOG:
        LOG.write(f"{json.dumps(arguments)}\n")
    result = {"content": [{"type": "text", "text": "done"}]}
    if name == "count":
        value = {"n": arguments["n"], "state": "open", "words": ["a", "b"], "note": "fine"}
        result = {
            "content": [{"type": "text", "text": json.dumps(value, indent=2)}],
            "structuredContent": value,
        }
    elif name == "list":
        result = {"content": [{"type": "text", "text": json.dumps({"price": n})} for n in (100, 200)]}
    elif name == "die":
        sys.exit(7)
    elif name == "garble":
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {id_}, "result": {{"conte\n')
        sys.stdout.flush()
        return
    elif name == "print":
        sys.stdout.buffer.write(b"a stray \xff print\n")
    elif name == "twice":
        send({"id": id_, "result": result})
    elif name == "hang":
        return
    elif name == "slow":
        for step in range(4):
            time.sleep(0.3)
            token = {"progressToken": arguments.get("token", id_), "progress": step}
            send({"method": "notifications/progress", "params": token})
    elif name == "shout":
        send({"method": "notifications/message", "params": {"level": "info", "data": "é" * 100_000}})
    send({"id": id_, "result": result})


for line in sys.stdin:
    message = json.loads(line)
    method, id_ = message.get("method"), message.get("id")
    if method == "initialize":
        about = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        send({"id": id_, "result": {**about, "serverInfo": {"name": "odd", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id_, "result": {"tools": tools()}})
    elif method == "tools/call":
        call(id_, message["params"]["name"], message["params"].get("arguments", {}))
    elif method == "notifications/cancelled" and LOG:
        LOG.write("cancelled\n")
    elif id_ is not None:
        send({"id": id_, "error": {"code": -32601, "message": f"no {method}"}})
