"""The direction of imports, and what our packages never use."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"durable_core", "fakes", "chaos", "scenarios", "crashwindow"}

MAY_IMPORT = {
    "durable_core": {"durable_core"},
    "fakes": {"fakes", "durable_core.fingerprint", "durable_core.codec"},
    "chaos": {"chaos", "fakes", "durable_core"},
    "scenarios": {"scenarios", "chaos", "fakes", "durable_core"},
}
"""What the modules of a package may import of ours: these, and what is inside them."""

UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
"""Modules that execute what they read."""

CHAOS_WORDS = re.compile(
    r"\b(chaos|inject\w*|kill_at|crash_?points?|pytest|unittest|test_mode|testing)\b", re.IGNORECASE
)
"""What production code would say if it knew that it is tested."""


@dataclass(frozen=True)
class Import:
    """An import statement, and whether Python carries it out when the module is loaded."""

    module: str
    line: int
    at_load: bool


def imports_in(source: str) -> Iterator[Import]:
    def walk(node: ast.AST, *, at_load: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (Import(alias.name, child.lineno, at_load) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"line {child.lineno}: imports are absolute here"
                yield from (Import(f"{child.module}.{alias.name}", child.lineno, at_load) for alias in child.names)
            else:
                inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                typing_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
                yield from walk(child, at_load=at_load and not inside and not typing_only)

    yield from walk(ast.parse(source), at_load=True)


def is_within(module: str, packages: set[str]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def modules_of(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{found.line} imports {found.module}"
        for file in modules_of(package)
        for found in imports_in(file.read_text())
        if is_within(found.module, OURS) and not is_within(found.module, MAY_IMPORT[package])
    ]
    assert not wrong


def test_a_wrong_direction_is_seen() -> None:
    (found,) = imports_in("def late():\n    from chaos.kill import kill")
    assert found == Import("chaos.kill.kill", 2, at_load=False)
    assert not is_within(found.module, MAY_IMPORT["fakes"])
    assert not is_within("durable_core.run.Run", MAY_IMPORT["fakes"])
    assert not is_within("fakes_of_others", MAY_IMPORT["fakes"])


def test_the_plugin_loads_nothing_of_ours_and_no_pytest_until_it_is_asked_to() -> None:
    at_load = [found.module for found in imports_in((ROOT / "crashwindow.py").read_text()) if found.at_load]
    assert [name for name in at_load if is_within(name, OURS | {"pytest"})] == []
    assert {name.partition(".")[0] for name in at_load} <= sys.stdlib_module_names


def test_a_harness_without_pytest_can_be_imported() -> None:
    needs = {
        file.relative_to(ROOT).as_posix()
        for package in MAY_IMPORT
        for file in modules_of(package)
        for found in imports_in(file.read_text())
        if found.at_load and is_within(found.module, {"pytest", "coverage"})
    }
    assert needs == {"chaos/fixture.py"}


@pytest.mark.parametrize("package", [*MAY_IMPORT, "crashwindow.py"])
def test_no_data_is_ever_executed(package: str) -> None:
    files = [ROOT / package] if package.endswith(".py") else modules_of(package)
    for file in files:
        source = file.read_text()
        for found in imports_in(source):
            assert not is_within(found.module, UNSAFE), f"{file}:{found.line} imports {found.module}"
        for node in ast.walk(ast.parse(source)):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called not in ("eval", "exec", "compile"), f"{file}:{node.lineno} calls {called}"


def test_the_core_has_no_switch_for_tests() -> None:
    # The conformance suite is made of tests; it is for those who write a store, and nothing in the core imports it.
    for file in modules_of("durable_core"):
        if file.name == "conformance.py":
            continue
        source = file.read_text()
        found = CHAOS_WORDS.search(source)
        assert found is None, f"{file.relative_to(ROOT)} says {found}"
        assert all(found.module != "durable_core.conformance" for found in imports_in(source))
