"""The root of all errors that a user can mend."""


class TradewindError(Exception):
    """Something that a user can mend; the message says what and, where possible, how."""
