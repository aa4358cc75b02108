"""`b2r table` on folders that are not what they should be, and on outputs that cannot be written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

B2R = str(Path(sys.executable).parent / "b2r")


@pytest.mark.parametrize(
    ("manifest", "complaint"),
    [
        ({"format": 1, "fingerprint": "x"}, "expected 'episodes' (int)"),
        ({"format": 1, "fingerprint": 3, "episodes": 1}, "expected 'fingerprint' (str)"),
        ({"format": 1, "fingerprint": "x", "episodes": 1, "spec": []}, "expected 'spec' (dict)"),
        ({"format": 7}, "expected format 2"),
        ([], "expected format 2"),
    ],
)
def test_a_manifest_that_is_none_is_one_line(b2r, tmp_path, manifest, complaint):
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "episodes.jsonl").touch()
    done = b2r("table", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path):
    run = [B2R, "run", "--benchmark", "helpdesk", "--tasks", "0-1", "--seeds", "1", "--out", "r"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    shown = subprocess.run(
        f"{B2R} table r --json | head -1",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_is_full_is_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([B2R, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
