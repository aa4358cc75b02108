import pytest

from bench2robust.core.domain import Domain, EquivalenceClass, Side

ORDER = EquivalenceClass("order", (Side("one", ("a",)), Side("two", ("b", "c"))))
PRODUCT = EquivalenceClass("product", (Side("p", ("d",)), Side("q", ("c",))))
DOMAIN = Domain("d", classes=(ORDER, PRODUCT))


def test_a_class_has_the_tools_of_its_sides():
    assert ORDER.tools == {"a", "b", "c"}


def test_classes_are_found_by_name():
    assert DOMAIN.equivalence("product") is PRODUCT
    with pytest.raises(KeyError):
        DOMAIN.equivalence("products")


def test_a_tool_may_be_on_sides_of_two_classes():
    assert DOMAIN.sides_of("c") == (("order", "two"), ("product", "q"))
    assert DOMAIN.sides_of("x") == ()
