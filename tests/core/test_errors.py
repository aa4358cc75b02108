import inspect
import re

import pytest

from bench2robust.core import errors
from bench2robust.core.errors import DomainFileError, UnknownNameError, UsageError


def drawn_tree():
    """Return child -> parent as the docstring draws it: four columns are one level."""
    found, line_of = {}, re.compile(r"^([ │├└─]+)(\w+Error)\b")
    stack = []
    for line in errors.__doc__.splitlines():
        if match := line_of.match(line):
            depth, name = len(match[1]) // 4 - 1, match[2]
            stack = [*stack[:depth], name]
            found[name] = stack[-2] if depth else "Exception"
    return found


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    classes = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, Exception)]
    assert drawn_tree() == {c.__name__: c.__bases__[0].__name__ for c in classes}
    assert len(classes) >= 10


def test_an_unknown_name_suggests_close_ones():
    error = UnknownNameError("tool", "get_ordr", ["get_order", "get_user", "calculate"])
    assert str(error).startswith("unknown tool='get_ordr'; did you mean 'get_order'")
    assert isinstance(error, UsageError)


@pytest.mark.parametrize(("known", "hint"), [([], "known: none"), (["a", "b"], "known: a, b")])
def test_without_a_close_name_the_known_ones_are_listed(known, hint):
    assert str(UnknownNameError("mode", "zzzzzz", known)) == f"unknown mode='zzzzzz'; {hint}"


def test_a_long_list_of_known_names_is_cut():
    assert str(UnknownNameError("x", "??", map(str, range(100)))).endswith("10, 11, …")


def test_a_domain_file_error_names_file_and_key():
    assert str(DomainFileError("a.toml", "classes.x", "expected two sides, got 1")) == (
        "a.toml: classes.x: expected two sides, got 1"
    )


def test_messages_are_one_line_whatever_came():
    assert "\n" not in str(UnknownNameError("x", "a\nb", ["a\nc"]))
