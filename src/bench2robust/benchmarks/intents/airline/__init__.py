"""What the generator knows of an airline: which writes are possible, and how a user says them."""

from .kit import AirlineKit

__all__ = ["AirlineKit"]
