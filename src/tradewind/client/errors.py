"""What goes wrong between a client and whoever it asks; each message names the remedy."""

from tradewind.model.errors import TradewindError


class ClientError(TradewindError):
    """What was asked for cannot be done."""


class UnreachableError(ClientError):
    """No server answers."""


class RefusedError(ClientError):
    """A server has said no."""

    def __init__(self, status: int, reason: str, kind: str = "") -> None:
        self.status = status
        self.kind = kind
        """The last part of the problem's type: `impossible`, …"""
        super().__init__(reason)


class NoServerError(ClientError):
    """Something that only a server can do."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a server; name one with --server or --profile, or start `tradewind server`")
