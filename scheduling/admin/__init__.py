"""The fleet and its scheduler in Django's admin, read-only; what may be changed goes through services."""

from scheduling.admin import aggregates, build_failures, decisions, fleet, policies

__all__ = ["aggregates", "build_failures", "decisions", "fleet", "policies"]
