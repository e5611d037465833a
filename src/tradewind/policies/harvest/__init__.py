"""Policies for capacity that shrinks and vanishes: prediction, placement and acquisition after SlackSched."""
