"""Schedulers: who turns a fleet, a request and a policy into a plan. The policy names the one that does."""

from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine.schedule import schedule
from scheduling.schedulers.base import HasSchedule, Scheduler
from scheduling.schedulers.filter_scheduler import FilterScheduler

__all__ = ["FilterScheduler", "HasSchedule", "ScheduleCall", "Scheduler", "schedule"]
