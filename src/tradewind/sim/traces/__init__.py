"""Changing capacity: free cores of servers over time, synthetic or read from files, and who gets them."""
