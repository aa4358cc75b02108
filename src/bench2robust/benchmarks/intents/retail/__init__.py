"""What the generator knows of retail: which writes are possible, and how a user says them."""

from .kit import RetailKit

__all__ = ["RetailKit"]
