"""Tools that the installed τ² may lack: `get_item_details`, and the five of the paper's Table 8.

They read the live state of an episode. Signatures and docstrings are what an agent is told of them
(golden-tested): τ² turns both into the tool's description and JSON schema, as it does for its own tools.
"""

import json
from collections.abc import Iterator
from typing import Any

from .store import World

ALTERNATIVES = (
    "search_product_by_name",
    "get_item_by_product_options",
    "get_orders_for_user",
    "get_user_by_order",
    "check_order_item_availability",
)
"""The five alternative tools, in the order of the paper's Table 8."""


class AddedTools:
    """The added tools on one episode's world. All only read; an unknown id raises as τ²'s tools do."""

    __slots__ = ("_db",)

    def __init__(self, world: World) -> None:
        self._db = world

    def get_item_details(self, item_id: str) -> Any:
        """Get the inventory details of an item.

        Args:
            item_id: The item id, such as '6086499569'. Be careful the item id is different from the product id.

        Returns:
            Variant: The item details.

        Raises:
            ValueError: If the item is not found.
        """
        for product in self._db.products.values():
            if item_id in product.variants:
                return product.variants[item_id]
        raise ValueError("Item not found")

    def search_product_by_name(self, name: str) -> Any:
        """Get the inventory details of a product by its exact name.

        These are the same details that get_product_details gives for a product id. The whole name has to
        match; upper and lower case do not matter.

        Args:
            name: The exact name of the product, such as 'T-Shirt'.

        Returns:
            Product: The product details.

        Raises:
            ValueError: If the product is not found.
        """
        wanted = name.lower()
        for product in self._db.products.values():
            if product.name.lower() == wanted:
                return product
        raise ValueError("Product not found")

    def get_item_by_product_options(self, product_id: str, options: dict[str, str]) -> str:
        """Find the one item of a product that has exactly the options given.

        Every option of the product has to be given. The answer says whether the item is available and what
        it costs; items with other options are not shown.

        Args:
            product_id: The product id, such as '6086499569'. Be careful the product id is different from the item id.
            options: Every option name of the product with the value wanted, such as {'color': 'blue', 'size': 'M'}.

        Returns:
            str: A JSON string with name, product_id, item_id, options, available and price.

        Raises:
            ValueError: If the product or the item is not found.
        """
        if product_id not in self._db.products:
            raise ValueError("Product not found")
        product = self._db.products[product_id]
        for variant in product.variants.values():
            if variant.options == options:
                return json.dumps(
                    {
                        "name": product.name,
                        "product_id": product.product_id,
                        "item_id": variant.item_id,
                        "options": variant.options,
                        "available": variant.available,
                        "price": variant.price,
                    }
                )
        raise ValueError("Item not found")

    def get_orders_for_user(self, user_id: str) -> str:
        """Get a summary of all orders of a user at once.

        For each order: order id, status, address, payment history, tracking ids, the names of the products
        and the total of the item prices. It has no item ids, no options and no prices of single items.

        Args:
            user_id: The user id, such as 'sara_doe_496'.

        Returns:
            str: A JSON string with a list of order summaries.

        Raises:
            ValueError: If the user is not found.
        """
        if user_id not in self._db.users:
            raise ValueError("User not found")
        orders = self._db.orders
        return json.dumps([_summary(orders[order_id]) for order_id in self._db.users[user_id].orders])

    def get_user_by_order(self, order_id: str) -> str:
        """Find the user id of the customer who placed an order.

        Args:
            order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.

        Returns:
            str: The user id.

        Raises:
            ValueError: If the order is not found.
        """
        return str(self._order(order_id).user_id)

    def check_order_item_availability(self, order_id: str) -> str:
        """Get every item of an order, with the variants of the same product that are in stock.

        For each item: product name, item id, product id, options, price and the available variants. Variants
        that are not in stock are left out; the status, address and payments of the order are not shown.

        Args:
            order_id: The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning of the order id.

        Returns:
            str: A JSON string with a list of items.

        Raises:
            ValueError: If the order is not found.
        """
        return json.dumps(
            [
                {
                    "name": item.name,
                    "item_id": item.item_id,
                    "product_id": item.product_id,
                    "options": item.options,
                    "price": item.price,
                    "available_variants": list(self._in_stock(item.product_id)),
                }
                for item in self._order(order_id).items
            ]
        )

    def _order(self, order_id: str) -> Any:
        if order_id not in self._db.orders:
            raise ValueError("Order not found")
        return self._db.orders[order_id]

    def _in_stock(self, product_id: str) -> Iterator[dict[str, Any]]:
        for variant in self._db.products[product_id].variants.values():
            if variant.available:
                yield {"item_id": variant.item_id, "options": variant.options, "price": variant.price}


def _summary(order: Any) -> dict[str, Any]:
    return {
        "order_id": order.order_id,
        "status": order.status,
        "address": order.address.model_dump(),
        "payment_history": [payment.model_dump() for payment in order.payment_history],
        "fulfillments": [{"tracking_id": fulfillment.tracking_id} for fulfillment in order.fulfillments],
        "items": [item.name for item in order.items],
        "total": round(sum(item.price for item in order.items), 2),
    }
