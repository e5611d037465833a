"""Pictures of runs, simulated or real, drawn with matplotlib (an extra: `pip install 'tradewind[plot]'`)."""
