"""What supervisors and monitoring read: health, readiness, metrics."""
