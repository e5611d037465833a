"""The deadline paper: Mao and Humphrey, Auto-scaling to minimize cost and meet application deadlines, SC 2011."""
