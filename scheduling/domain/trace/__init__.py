"""What a run of the scheduler decided, and why, host by host."""
