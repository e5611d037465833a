"""A run as one HTML file that opens anywhere: what ran where, what it cost, and what it waited for."""
