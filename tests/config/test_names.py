"""One name, one thing: a class name is used once, and a test stands where its subject does."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.config.conftest import ROOT

APPS = ["accounts", "agents", "billing", "catalog", "config", "pages", "status", "webhooks"]
NOT_OURS = {"migrations", "_generated", "_sync"}  # `make sdk` writes the last two
# Django looks for `Command`. An engine is a driver and a row of the catalog, a pod a program and an observed row, and
# texts of several paragraphs are a field of the API and a field of a form.
TWO_THINGS = {"Command", "Engine", "Paragraphs", "Pod"}
# Tests of several modules together, in the folder of what they look at; the list may only become shorter.
OF_SEVERAL_MODULES = {"billing/histories", "billing/providers/adding", "billing/replaying", "config/every_page"}
OF_SEVERAL_MODULES |= {"webhooks/adding"}
NAMED_LIKE_A_MODULE = {
    *(f"agents/clusters/{name}" for name in ("backups", "drift", "identity", "observe", "repair")),
    *(f"agents/engines/{name}" for name in ("backups", "causes", "channels", "mcp", "memory", "peers")),
    *("agents/pod/bridge/parts", "agents/pod/gateway/a2a/client", "agents/pod/gateway/a2a/parts"),
    *("agents/pod/gateway/parts", "agents/runtimes/local/quota", "agents/commands"),
    *("billing/invoices", "billing/providers/stripe/next_plans", "billing/providers/stripe/open_items"),
}
_CLASS = re.compile(r"^[ \t]*class ([A-Za-z]\w*)", re.MULTILINE)
_IMPORT = re.compile(r"^from (tests[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def _classes(*folders: str) -> Counter[str]:
    """How often each name is given to a class. Classes inside of classes and private ones are not counted.

    Only files with a name that seems to be used more than once are parsed, because parsing all takes ten seconds.
    """
    paths = [path for top in folders for path in (ROOT / top).rglob("*.py") if not NOT_OURS & {*path.parts}]
    seen = {text: _CLASS.findall(text) for text in (path.read_text(encoding="utf-8") for path in paths)}
    times = Counter(name for names in seen.values() for name in names)
    trees = [ast.parse(text) for text, names in seen.items() if any(times[name] > 1 for name in names)]
    return Counter(name for tree in trees for name in _named(tree) if not name.startswith("_"))


def _named(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield child.name
        else:
            yield from _named(child)


def test_a_class_name_is_used_once() -> None:
    """In tests, examples and benchmarks too."""
    shared = {name for name, times in _classes(*APPS, "benchmarks", "examples", "sdk", "tests").items() if times > 1}
    assert shared == TWO_THINGS


def _modules(app: str) -> dict[str, set[str]]:
    """The names of the modules and folders in each folder of an app."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / app).rglob("*.py"):
        place = path.relative_to(ROOT).with_suffix("")
        for one in (place, *place.parents[:-1]):
            found.setdefault(str(one.parent), set()).add(one.name)
    return found


def _tests(app: str) -> Iterator[tuple[str, str]]:
    """The folder and the subject of each test of an app: `tests/x/test_y.py` is `x` and `y`."""
    for path in (ROOT / "tests" / app).rglob("test_*.py"):
        yield str(path.parent.relative_to(ROOT / "tests")), path.stem.removeprefix("test_")


@pytest.mark.parametrize("app", APPS)
def test_tests_are_in_folders_of_the_same_names(app: str) -> None:
    assert {folder for folder, _ in _tests(app)} - set(_modules(app)) - OF_SEVERAL_MODULES == set()


@pytest.mark.parametrize("app", APPS)
def test_the_test_of_a_module_stands_where_the_module_does(app: str) -> None:
    """The test of `x/y.py` is `tests/x/test_y.py`, or begins so. A test of a rule may have any other name."""
    modules = _modules(app)
    names = set().union(*modules.values())
    elsewhere = {
        f"{folder}/{subject}"
        for folder, subject in _tests(app)
        if folder not in OF_SEVERAL_MODULES and subject in names and subject not in modules[folder]
    }
    assert elsewhere == {place for place in NAMED_LIKE_A_MODULE if place.startswith(f"{app}/")}


def _fixtures() -> set[tuple[str, str]]:
    """The module and the name of each fixture."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    return {
        (".".join(path.relative_to(ROOT).with_suffix("").parts), function.name)
        for path, text in texts.items()
        if "fixture" in text
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list)
    }


def test_no_test_module_imports_a_fixture() -> None:
    """A conftest has it, or a module that tests/conftest.py names."""
    imported = {
        (module, name)
        for path in (ROOT / "tests").rglob("test_*.py")
        for module, names in _IMPORT.findall(path.read_text(encoding="utf-8"))
        for name in re.findall(r"\w+", names)
    }
    assert ("tests.config.conftest", "ROOT") in imported
    assert imported & _fixtures() == set()
