"""What bulk jobs can be done to: for each kind, who sees which, how one is asked for, and how it ended."""
