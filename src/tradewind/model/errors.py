"""The base class of all errors that a user can fix."""


class TradewindError(Exception):
    """An error that a user can fix; the message says what is wrong and, if possible, how to fix it."""
