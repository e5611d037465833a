"""Errors between a client and its backend; each message names the fix."""

from tradewind.model.errors import TradewindError


class ClientError(TradewindError):
    """A request that cannot be carried out."""


class UnreachableError(ClientError):
    """No server answers."""


class RefusedError(ClientError):
    """A request that the server rejected."""

    def __init__(self, status: int, reason: str, kind: str = "") -> None:
        self.status = status
        self.kind = kind
        """The last part of the problem type: `impossible`, …"""
        super().__init__(reason)


class NoServerError(ClientError):
    """An operation that needs a server."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} needs a server; name one with --server or --profile, or start `tradewind server`")
