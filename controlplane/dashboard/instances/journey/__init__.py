"""The journey of an instance: attempts as lanes on one axis of time, with their causes."""
