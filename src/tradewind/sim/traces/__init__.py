"""Capacity that changes: free cores of servers over time, made up or read from files, and who gets them."""
