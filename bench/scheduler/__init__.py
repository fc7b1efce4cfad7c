"""The scheduler's engine on synthetic fleets, side by side with Nova's: `python -m bench.scheduler --help`."""
