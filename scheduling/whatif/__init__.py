"""What would happen, and what would help: simulation, explanation, capacity. Nothing is written."""
