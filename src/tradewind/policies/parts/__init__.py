"""Small parts from which policies are composed."""
