"""The experiments of the capability paper (the Steep workflow system: Krämer 2021)."""
