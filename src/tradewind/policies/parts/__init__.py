"""Small parts that policies are composed of."""
