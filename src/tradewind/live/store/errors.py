"""What can go wrong with a store, and what to do about it."""

from tradewind.model.errors import TradewindError


class StoreError(TradewindError):
    """A store that cannot do what it was asked; the message names the remedy."""


class StoreUnavailableError(StoreError):
    """A store that cannot be written or read for the time being: unreachable, full, read-only or locked.

    Nothing is lost: whoever saved still has the batch, and may save it again as often as needed, for a batch that did
    arrive after all is overwritten with itself.
    """


class LostLeaseError(StoreError):
    """Somebody else leads: nothing was saved, and whoever tried must stop acting as the leader."""


class StoreInUseError(StoreError):
    """Somebody else leads already."""

    def __init__(self) -> None:
        super().__init__("a session or server in another folder works with this store; wait for it, or name another")


class UnknownRowError(StoreError):
    """A change of something that was never saved, or two changes of one thing in a batch: a defect of the caller."""


class NewerStoreError(StoreError):
    """A store written by a newer version of Tradewind."""

    def __init__(self, where: str, found: str, known: str) -> None:
        super().__init__(
            f"{where}: written by a newer Tradewind (schema {found}; this one knows up to {known}); "
            "upgrade Tradewind, or open another store"
        )
