"""Bad input to ``b2r mcp-proxy`` is one line, and no server is started."""

from __future__ import annotations

import pytest

from bench2robust.cli.main import exit_code

SERVER = ("--", "touch", "started")

BAD = {
    "no server": ([], "expected one server, got none"),
    "two servers": (["--url", "http://127.0.0.1:1/mcp", *SERVER], "expected one server, got both"),
    "no such command": (["--", "no-such-command"], "expected the command of an MCP server"),
    "no URL": (["--url", "ftp://x"], "expected a URL"),
    "no address": (["--listen", "8000", *SERVER], "expected HOST:PORT"),
    "no port": (["--listen", "127.0.0.1:99999", *SERVER], "expected HOST:PORT"),
    "not ours": (["--listen", "203.0.113.1:80", *SERVER], "expected a free address"),
    "no profile": (["--profile", "sever", *SERVER], "did you mean 'severe'?"),
    "no probability": (["--clean-probability", "2", *SERVER], "between 0 and 1"),
    "no budget": (["--budget", "many", *SERVER], "expected an integer or none, got budget='many'"),
    "negative": (["--max-consecutive", "-1", *SERVER], "expected an integer of at least 1"),
    "no scenario": (["--scenario", "s4", *SERVER], "unknown scenario='s4'"),
    "no classes": (["--scenario", "s2", *SERVER], "expected equivalence classes"),
    "no domain": (["--domain", "retial", *SERVER], "did you mean 'retail'?"),
    "no domain file": (["--domain", "none.toml", *SERVER], "none.toml: file: expected a readable file"),
    "no form": (["--failures", "exception", *SERVER], "unknown failures='exception'"),
    "no seconds": (["--hang", "-1", *SERVER], "expected seconds"),
    "not a number": (["--timeout", "nan", *SERVER], "expected seconds"),
    "no header": (["--header", "s3cret", *SERVER], "expected NAME:VALUE"),
    "no memory": (["--memory", "none.json", *SERVER], "none.json: expected a file that can be read"),
    "nothing to learn in": (["--learn", *SERVER], "give --memory FILE"),
    "no log": (["--log", "none/calls.jsonl", *SERVER], "expected a log file that can be written"),
    "no option": (["--profil", "severe", *SERVER], "No such option"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    arguments, said = BAD[case]
    assert exit_code(["mcp-proxy", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert said in line
    assert "s3cret" not in line
    assert not list(tmp_path.iterdir())
