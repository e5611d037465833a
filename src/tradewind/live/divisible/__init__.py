"""The service of divisible jobs over the store: nothing is kept in memory that the store does not have."""
