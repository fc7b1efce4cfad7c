"""What an agent reports of a build: the guest runs, or it failed and the host holds nothing of it any more."""

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.steps import BuildFailure, FailureClass, HostBlame
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work, WorkState
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, WorkLease, work_create, work_finish, work_history
from scheduling.fleet.services.build_failures import build_failure_count, build_failure_reset
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.topology.services.claims import claims_free, devices_allocate
from servers.conf import server_options
from servers.instances.actions.lifecycle import CREATE
from servers.instances.domain.build_ends import may_go_on, owner_words
from servers.instances.domain.host_blame import AttemptBlame, blame_of
from servers.instances.selectors.hanging_step import hanging_words
from servers.instances.selectors.instances import instance_row, is_host_forced
from servers.instances.services.first_boot import first_boot_erase
from servers.instances.services.host_blame import blame_due_at
from servers.instances.services.journal import (
    BUILD_ACTIONS,
    StepReport,
    action_close,
    attempt_close,
    fault_record,
    steps_cut,
)
from servers.instances.services.notifications import Phase, emit_instance_action
from servers.instances.services.state import built_set, instance_error_set, state_set
from servers.instances.work_kinds import RESCHEDULE
from servers.models import Instance
from servers.networks.services.bindings import instance_ports_unbind
from servers.networks.services.instance_ports import instance_ports_free
from servers.states import TaskState, VmState
from servers.volumes.services.with_instances import (
    instance_volumes_release,
    instance_volumes_run,
    instance_volumes_unmake,
)

UNTAKEN = "dispatch"
"""The step of a build that no agent took."""
CUT_OFF = _("It was cut off; a later attempt found that there was nothing left to do.")


def build_done(
    *,
    lease: WorkLease,
    guest: GuestFacts,
    steps: StepReport,
    has_devices: bool = True,
    has_first_boot: bool = True,
    has_block_devices: bool = True,
) -> None:
    """ACTIVE. Raises Fenced when another attempt owns the work, Conflict when the instance is being deleted.

    Raises Fenced when another attempt owns the work, and Conflict when the instance is being deleted. With
    `has_devices` False the guest was promised no PCI device, so none is read; with `has_first_boot` False there is no
    password to be forgotten; with `has_block_devices` False no volume.
    """
    with transaction.atomic():
        work_finish(lease=lease)
        if has_devices:
            devices_allocate(consumer_uuid=lease.subject)  # locks the host's node, in the order of `build_failed`
        built_set(lease.subject, guest)
        if has_first_boot:
            first_boot_erase(lease.subject)
        if has_block_devices:
            instance_volumes_run(instance_uuid=lease.subject)
        if attempt_close(instance_id=lease.subject, outcome="active") > 1:
            blame_due_at(instance_id=lease.subject, built_on=steps.track.host)
        action_close(instance_id=lease.subject, actions=BUILD_ACTIONS, result="success")
        steps.write()
        if lease.attempt > 1:
            steps_cut(instance_id=lease.subject, error=CUT_OFF)
        emit_instance_action(CREATE.notification, Phase.END, [lease.subject])
    build_failure_reset(host=steps.track.host)


def build_failed(*, lease: WorkLease, failure: BuildFailure, steps: StepReport) -> None:
    """The host released everything: next host, or ERROR, by `build_ends`. Raises Fenced or Conflict as above."""
    step, message = failure.step, failure.message
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": message, "step": step})
        instance = instance_row(lease.subject)
        blame = blame_of(failure)
        if blame is AttemptBlame.COUNTED:
            # Locks the host's node, which comes before Placement's rows.
            build_failure_count(host=instance.host, reason=f"{step}: {message}", instance_uuid=instance.pk)
        claims_free([instance.pk])
        steps.write()
        steps_cut(instance_id=instance.pk, error=message)
        emit_instance_action(
            CREATE.notification, Phase.ERROR, [instance.pk], problem=message, step=step
        )  # while it has its host
        if _may_go_on(instance, failure.failure_class):
            _hand_back(instance, failure, blame)
        else:
            _end_in_error(instance, failure, blame)


def build_untaken_end(work: Work, *, reason: str) -> None:
    """Of a build that no agent took, and none will: the next host, or ERROR, in the transaction that ended the work.

    Nothing was begun, so nothing is left on the host, and the host is not blamed.
    """
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True).first()
    if instance is None or instance.task_state == TaskState.DELETING:
        return
    failure = BuildFailure(failure_class=FailureClass.HOST, step=UNTAKEN, message=reason, blame=HostBlame.NEVER)
    claims_free([instance.pk])
    emit_instance_action(CREATE.notification, Phase.ERROR, [instance.pk], problem=reason, step=UNTAKEN)
    if _may_go_on(instance, failure.failure_class):
        _hand_back(instance, failure, blame_of(failure))
    else:
        _end_in_error(instance, failure, blame_of(failure))


def _may_go_on(instance: Instance, failure: FailureClass) -> bool:
    return may_go_on(
        failure,
        attempts=len(instance.hosts_tried) + 1,  # since it was asked for, or scheduled again by hand
        attempts_allowed=attempts_allowed(),
        is_host_forced=is_host_forced(instance.pk),
    )


def _hand_back(instance: Instance, failure: BuildFailure, blame: AttemptBlame) -> None:
    attempt_close(
        instance_id=instance.pk,
        outcome="rescheduled",
        reason=f"{failure.step} on {instance.host}: {failure.message}\n{failure.details}".strip(),
        failure_class=failure.failure_class,
        host_blame=blame,
    )
    state_set(
        instance.pk,
        vm_in={VmState.BUILDING},
        task_state=TaskState.SCHEDULING,
        host="",
        node="",
        compute_node_uuid=None,
        hosts_tried=[*instance.hosts_tried, instance.host],
    )
    instance_ports_unbind(instance_uuid=instance.pk)
    if instance.has_block_devices:
        instance_volumes_unmake(instance_uuid=instance.pk)
    work_create(NewWork(CONDUCTOR_QUEUE, RESCHEDULE, instance.pk, server_options().build_deadline_s))


def _end_in_error(instance: Instance, failure: BuildFailure, blame: AttemptBlame) -> None:
    step, message = failure.step, failure.message
    attempt_close(
        instance_id=instance.pk,
        outcome="failed",
        reason=f"{step}: {message}\n{failure.details}".strip(),
        failure_class=failure.failure_class,
        host_blame=blame,
    )
    instance_error_set(
        instance.pk,
        host="",
        node="",
        compute_node_uuid=None,
        hosts_tried=[*instance.hosts_tried, instance.host],
        failure_class=failure.failure_class,
    )
    instance_ports_free([instance.pk])
    if instance.has_block_devices:
        instance_volumes_release(instance_uuid=instance.pk, is_terminated=False)
    said = owner_words(failure.failure_class, step=step, message=message)
    everything = f"{message}\n{failure.details}".strip()
    fault_record(instance_id=instance.pk, message=said, step=step, host=instance.host, details=everything)
    action_close(instance_id=instance.pk, actions=BUILD_ACTIONS, result="error", message=said)


def build_overdue(work: Work, reason: str) -> None:
    """The agent did not finish in time. Invariant: the host stays the instance's host, for silence never moves a VM."""
    hangs = hanging_words(instance_id=work.subject)
    _fail_in_place(work, CREATE.name, _("The build did not finish: {reason}{hangs}.", reason=reason, hangs=hangs))
    attempt_close(instance_id=work.subject, outcome="failed", reason=f"{reason}\n{work_history(work)}".strip())


def _fail_in_place(work: Work, action: str, message: str) -> None:
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True).first()
    if instance is None or instance.task_state == TaskState.DELETING:
        return
    instance_error_set(instance.pk)
    steps_cut(instance_id=instance.pk, error=message)
    details = work_history(work)
    fault_record(instance_id=instance.pk, message=message, step=work.step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(action,), result="error", message=message)
    emit_instance_action(action, Phase.ERROR, [instance.pk], problem=message, step=work.step)
