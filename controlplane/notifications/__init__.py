"""Notifications: what happened is written into an outbox with its change, and delivered to webhooks and the log.

`outbox` writes, `offers` decides who is told, `deliveries` are the rows of work, `sender` does it.
"""
