#!/usr/bin/env python3
"""Counts what is in the recorded transcripts, without any code of countersign.

    python3 tests/oracles/transcripts.py FOLDER > tests/oracles/transcripts.json

FOLDER holds one folder a program, each with `ondisk-transcript.*.jsonl`. Every program's records are walked by their own
few keys.
"""

import json
import pathlib
import sys


def walk(value):
    """Every object inside a JSON value."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def calls(program, records):
    """(id, tool) of each tool call, in order, each id once."""
    found = {}
    for record in records:
        for part in walk(record):
            if program == "claude" and part.get("type") == "tool_use":
                found.setdefault(part["id"], part["name"])
            elif program == "codex" and part.get("type") == "function_call":
                found.setdefault(part["call_id"], part["name"])
            elif program == "copilot" and record["type"] == "tool.execution_start" and "toolName" in part:
                found.setdefault(part["toolCallId"], part["toolName"])
            elif program == "gemini" and {"name", "args", "status"} <= part.keys():
                found.setdefault(part["id"], part["name"])
            elif program == "opencode" and part.get("type") == "tool":
                found.setdefault(part["callID"], part["tool"])
            elif program == "pi" and part.get("type") == "toolCall":
                found.setdefault(part["id"], part["name"])
            elif program == "qwen" and isinstance(part.get("functionCall"), dict):
                found.setdefault(part["functionCall"]["id"], part["functionCall"]["name"])
    return list(found.values())


def main(folder):
    counted = {}
    for path in sorted(pathlib.Path(folder).glob("*/ondisk-transcript.*.jsonl")):
        program = path.parent.name
        lines = path.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
        counted[program] = {"records": len(records), "tools": calls(program, records)}
    json.dump(counted, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
