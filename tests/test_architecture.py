"""The nevers, held by reading the imports of every module there is."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("streamnb", "consumers")
KAFKA_CLIENTS = {"kafka": "consumers.kafka.kafka_python.names", "confluent_kafka": "consumers.kafka.confluent.names"}


def _modules(*packages):
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path):
    """Return the full name of everything that a module imports, wherever in it the import stands."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = _name(path).split(".")[: -node.level + (path.name == "__init__.py") or None] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


def _nearest(name, modules):
    """Return the module that a full name is, or is in; nothing for what is not ours."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _tops(path):
    return {name.partition(".")[0] for name in _imports(path)}


def _calls(path):
    """Return the names that a module calls, bare or, with a dot before them, as a method."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node.func.id if isinstance(node.func, ast.Name) else "." + getattr(node.func, "attr", "")


def _ids(paths):
    return [pytest.param(path, id=_name(path)) for path in paths]


def test_there_are_modules_to_read():
    names = {_name(path) for path in _modules("streamnb")}
    assert names >= {"streamnb", "streamnb.kernels", "streamnb.naive_bayes", "streamnb.snapshot", "streamnb.encoder"}
    assert "math" in _tops(ROOT / "streamnb" / "kernels" / "score.py")


@pytest.mark.parametrize("path", _ids(_modules("streamnb")))
def test_the_learner_never_imports_the_programs(path):
    assert "consumers" not in _tops(path)
    assert not _tops(path) & {"click", "rich", "zstandard", "msgspec"}


@pytest.mark.parametrize("path", _ids([*_modules("streamnb/kernels"), ROOT / "streamnb" / "arrays.py"]))
def test_kernels_import_numpy_numba_and_math_alone(path):
    """And of ours, what they share and each other."""
    assert _tops(path) <= {"numba", "numpy", "math", "typing", "collections", "streamnb"}
    ours = {name for name in _imports(path) if name.startswith(("collections", "streamnb"))}
    assert all(name.startswith(("collections.abc.", "streamnb.arrays.", "streamnb.kernels.")) for name in ours)


def test_no_module_imports_itself_round_about():
    """Imports inside functions count as well, so that none of them hides a circle."""
    names = {_name(path) for path in _modules(*PACKAGES)}
    graph = {_name(path): {_nearest(name, names) for name in _imports(path)} - {""} for path in _modules(*PACKAGES)}
    assert set(TopologicalSorter(graph).static_order()) == names


@pytest.mark.parametrize("path", _ids(_modules(*PACKAGES)))
def test_a_kafka_client_is_imported_by_one_file(path):
    assert all(_name(path) == KAFKA_CLIENTS[client] for client in _tops(path) & set(KAFKA_CLIENTS))


@pytest.mark.parametrize("path", _ids(_modules("streamnb")))
def test_the_learner_touches_no_disk_no_network_no_clock_and_no_chance(path):
    """Whoever wants a model on a disk writes the bytes that it is given."""
    assert not _tops(path) & {"socket", "os", "pathlib", "io", "shutil", "tempfile", "urllib", "http", "ssl", "asyncio"}
    assert not _tops(path) & {"time", "datetime", "random", "secrets", "threading", "multiprocessing", "subprocess"}
    assert not {"open", "eval", "exec", "compile", "__import__"} & set(_calls(path))
    assert not {".open", ".fromfile", ".tofile", ".memmap", ".import_module"} & set(_calls(path))


@pytest.mark.parametrize("path", _ids(_modules(*PACKAGES)))
def test_nothing_is_pickled(path):
    """Loading a pickle runs code; models travel as snapshots."""
    assert not _tops(path) & {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


@pytest.mark.parametrize("path", _ids(_modules(*PACKAGES)))
def test_every_module_says_in_its_first_line_what_it_is(path):
    assert (ast.get_docstring(ast.parse(path.read_text())) or "").strip()


@pytest.mark.parametrize(
    "path",
    _ids(
        path
        for path in _modules("consumers")
        if path.name
        not in {
            "files.py",
            "outputs.py",
            "snapshots.py",
            "settings.py",
            "demo.py",
            "cli.py",
            "security.py",
            "secrets.py",
        }
    ),
)
def test_of_the_programs_only_those_about_files_touch_the_disk(path):
    """The command itself knows the system only to end quietly when standard output is gone."""
    assert not _tops(path) & {"os", "pathlib", "io", "shutil", "tempfile", "socket"}
    assert not {"open", ".open"} & set(_calls(path))
