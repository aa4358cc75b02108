import pytest

from bench2robust import domains
from bench2robust.core.domain import Domain, EquivalenceClass, FieldRules, Side
from bench2robust.core.errors import DomainFileError, UnknownNameError

GOOD = """
name = "shop"
exempt = ["transfer"]

[tools]
standard = ["get_order", "find_user", "cancel_order", "transfer"]
alternative = ["get_orders"]

[classes.order]
usual = ["get_order"]
summary = ["get_orders", "find_user"]

[needs]
cancel_order = ["order"]

[granularity]
get_orders = "no item ids"

[states]
"pending" = []
"processed" = ["pending"]
"delivered" = ["processed"]
"lost" = ["processed", "pending"]

[responses.order]
tools = ["get_order", "cancel_order"]
critical = ["items", "items.*.options"]
state = ["status"]
numeric = ["items.*.price", "$"]
enum = ["reason"]
"""


def load(tmp_path, text):
    file = tmp_path / "shop.toml"
    file.write_text(text, encoding="utf-8")
    return domains.load_file(file)


def test_a_file_that_fits(tmp_path):
    rules = FieldRules(("items", "items.*.options"), ("status",), ("items.*.price", "$"))
    assert load(tmp_path, GOOD) == Domain(
        name="shop",
        classes=(
            EquivalenceClass(
                "order", (Side("usual", ("get_order",)), Side("summary", ("get_orders", "find_user")))
            ),
        ),
        needs={"cancel_order": ("order",)},
        granularity={"get_orders": "no item ids"},
        fields={"get_order": rules, "cancel_order": rules},
        earlier={
            "processed": ("pending",),
            "delivered": ("processed", "pending"),
            "lost": ("processed", "pending"),
        },
        exempt=frozenset({"transfer"}),
        tools=("get_order", "find_user", "cancel_order", "transfer", "get_orders"),
    )


def test_only_name_and_tools_are_needed(tmp_path):
    assert load(tmp_path, 'name = "d"\ntools.standard = ["a"]') == Domain("d", tools=("a",))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "shop"', "", "name: expected a name, got None"),
        ('name = "shop"', "name = 3", "name: expected a name, got 3"),
        ("[needs]", "[neds]", "top level: unknown key='neds'; did you mean 'needs'"),
        ("[classes.order]", "[classes.order", "syntax: expected TOML, got an error: "),
        ('name = "shop"', "needs = 3\nname = 'shop'\n[x]", "syntax: expected TOML"),
        ('alternative = ["get_orders"]', 'alternativ = ["get_orders"]', "tools: unknown list of tools='alternativ'"),
        ('alternative = ["get_orders"]', 'alternative = "get_orders"', "tools.alternative: expected a list of strings, got"),
        ('alternative = ["get_orders"]', 'alternative = ["get_order", "get_orders"]', "tools: expected each once, got 'get_order'"),
        ('usual = ["get_order"]\n', "", "classes.order: expected two or more sides, got 1: summary"),
        ('["get_orders", "find_user"]', '["get_orderz"]', "classes.order.summary: unknown tool='get_orderz'; did you mean"),
        ('["get_orders", "find_user"]', "[]", "classes.order.summary: expected one tool or more, got []"),
        ('["get_orders", "find_user"]', "[3]", "classes.order.summary: expected a list of strings, got [3]"),
        ('["get_orders", "find_user"]', '["transfer"]', "classes.order: expected tools that can be blocked, got exempt 'transfer'"),
        ("[classes.order]", "[classes]\nproduct = 3\n[classes.order]", "classes.product: expected a table of sides, got 3"),
        ('exempt = ["transfer"]', 'exempt = ["transfr"]', "exempt: unknown tool='transfr'; did you mean 'transfer'"),
        ('cancel_order = ["order"]', 'cancel_ordr = ["order"]', "needs: unknown tool='cancel_ordr'; did you mean"),
        ('cancel_order = ["order"]', 'cancel_order = ["ordr"]', "needs.cancel_order: unknown equivalence class='ordr'"),
        ('cancel_order = ["order"]', 'cancel_order = "order"', "needs.cancel_order: expected a list of strings, got 'order'"),
        ('get_orders = "no item ids"', 'get_ordrs = "no item ids"', "granularity: unknown tool='get_ordrs'"),
        ('get_orders = "no item ids"', "get_orders = 1", "granularity.get_orders: expected a note, got 1"),
        ('"pending" = []', '"pending" = ["lost"]', "states.pending: expected an order of states, got 'pending' before itself"),
        ('"pending" = []', '"pending" = ["pending"]', "states.pending: expected an order of states, got 'pending' before"),
        ('"lost" = ["processed", ', '"lost" = ["procesed", ', "states.lost: unknown state='procesed'; did you mean"),
        ('"pending" = []', '"pending" = "none"', "states.pending: expected a list of strings, got 'none'"),
        ('tools = ["get_order", "cancel_order"]', "", "responses.order.tools: expected a list of strings, got None"),
        ('tools = ["get_order", "cancel_order"]', 'tools = ["get_ordr"]', "responses.order.tools: unknown tool='get_ordr'"),
        ("[responses.order]", '[responses.a]\ntools = ["get_order"]\n[responses.order]', "responses.order.tools: expected one response a tool, got 'get_order'"),
        ("[responses.order]", "[responses]\na = 1\n[responses.order]", "responses.a: expected a table, got 1"),
        ("critical =", "critcal =", "responses.order: unknown key='critcal'; did you mean 'critical'"),
        ('"items.*.options"]', '"items..options"]', "responses.order.critical: expected dotted keys, '*' or '$' alone, got 'items..options'"),
        ('"items.*.options"]', '"items.**"]', "responses.order.critical: expected dotted keys, '*' or '$' alone, got 'items.**'"),
        ('"items.*.options"]', '"$.items"]', "responses.order.critical: expected dotted keys, '*' or '$' alone, got '$.items'"),
        ('"items.*.options"]', '" items"]', "responses.order.critical: expected dotted keys, '*' or '$' alone, got ' items'"),
        ('"items.*.options"]', '"items.*.options", "status"]', "responses.order.critical: expected fields that may be empty, got 'status', which is state 'status'"),
        ('"items.*.options"]', '"items.*.options", "*"]', "responses.order.critical: expected fields that may be empty, got '*', which is state 'status'"),
        ('enum = ["reason"]', 'enum = ["items.*.options"]', "got 'items.*.options', which is enum 'items.*.options'"),
        ('enum = ["reason"]', "enum = 1", "responses.order.enum: expected a list of strings, got 1"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_fit_names_file_key_and_value(tmp_path, old, new, message):
    assert old in GOOD
    with pytest.raises(DomainFileError) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'shop.toml'}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_top_level_value_of_the_wrong_kind(tmp_path):
    with pytest.raises(DomainFileError, match="needs: expected a table, got 3"):
        load(tmp_path, 'needs = 3\nname = "d"\ntools.standard = ["a"]')
    with pytest.raises(DomainFileError, match=r"tools: expected the names of the domain's tools, got \{\}"):
        load(tmp_path, 'name = "d"')


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(
        DomainFileError, match=r"none\.toml: file: expected a readable file, got No such file"
    ):
        domains.load_file(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DomainFileError, match=r"binary\.toml: syntax: expected TOML"):
        domains.load_file(str(tmp_path / "binary.toml"))


def test_packaged_domains_are_loaded_once_and_by_name():
    assert "retail" in domains.names()
    assert domains.load("retail") is domains.load("retail")
    with pytest.raises(UnknownNameError, match=r"unknown domain='retial'; did you mean 'retail'"):
        domains.load("retial")


@pytest.mark.parametrize("name", domains.names())
def test_every_packaged_domain_fits(name):
    assert domains.load(name).name == name


def test_constraints_are_the_domains_own_where_it_has_some(tmp_path):
    assert load(tmp_path, GOOD).constraints is None
    with_own = GOOD.replace("[tools]", 'constraints = ["Ask first.", "Retry once."]\n[tools]', 1)
    assert load(tmp_path, with_own).constraints == ("Ask first.", "Retry once.")
    assert load(tmp_path, GOOD.replace("[tools]", "constraints = []\n[tools]", 1)).constraints == ()
    with pytest.raises(DomainFileError, match=r"constraints: expected a list of strings, got 'Ask first\.'"):
        load(tmp_path, GOOD.replace("[tools]", 'constraints = "Ask first."\n[tools]', 1))
