"""Notifications: what happened is written into an outbox with its change, and delivered to webhooks and the log.

`outbox` writes events, `fan_out` decides who gets them, `deliveries` are the rows of work, `sender` sends them.
"""
