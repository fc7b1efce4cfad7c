"""The fleet and its scheduler in Django's admin: to look at and search; what may be changed goes through services."""

from scheduling.admin import aggregates, decisions, fleet, policies

__all__ = ["aggregates", "decisions", "fleet", "policies"]
