"""Divisible jobs over HTTP: for tenants under `/api/v1`, for sites and their workers under `/worker/v1`."""
