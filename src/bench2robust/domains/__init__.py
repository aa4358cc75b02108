"""Domain facts as data: one TOML file a domain, read into `bench2robust.core.domain.Domain`."""

from .loader import load, load_file, names

__all__ = ["load", "load_file", "names"]
