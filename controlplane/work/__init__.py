"""Background work: rows with attempt and lease, wake-ups, periodic tasks, the reconciler.

The rows are the truth; a wake-up only tells a process to look. Nothing else imports django_q.
"""
