"""The journey of an instance: its attempts as tracks on one axis of time, with their causes."""
