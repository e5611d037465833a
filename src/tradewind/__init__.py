"""Tradewind runs workloads of workflows on rented machines, and simulates them with the same decisions."""


def __getattr__(name: str) -> str:
    """The version, looked up when somebody asks: that takes longer than starting a worker should."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("tradewind")
    raise AttributeError(name)
