"""Request filters that ask for hosts able to do what flavor, image or ports want of them."""

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.request_filters.base import NOTHING, Addition, Surroundings, traits
from scheduling.request_filters.constraints import hw_choice, hw_flag

STATUS_DISABLED = "COMPUTE_STATUS_DISABLED"
OWNER = "OWNER_NOVA"
OWNER_SINCE = 73
"""The compute service version from which on hosts report OWNER_NOVA."""

ENCRYPTION_FORMATS = ("plain", "luks", "luksv2")
SOUND_MODELS = ("sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio")
TPM_VERSIONS, TPM_MODELS = ("1.2", "2.0"), ("tpm-tis", "tpm-crb")
TPM_SECRETS = ("user", "host", "deployment")


def compute_status_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """No host that an operator disabled."""
    return Addition(forbidden=frozenset({STATUS_DISABLED}))


def accelerators_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts that can give accelerators, where the flavor names a device profile."""
    return traits("COMPUTE_ACCELERATORS") if request.flavor.extra_specs.get("accel:device_profile") else NOTHING


def packed_virtqueue_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts with packed virtqueues, where flavor or image want them."""
    return traits("COMPUTE_NET_VIRTIO_PACKED") if hw_flag(request, "virtio_packed_ring") else NOTHING


def remote_managed_ports_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts whose driver takes remote-managed ports, where the request brings one."""
    has_any = any(each.is_remote_managed for each in request.requested_networks)
    return traits("COMPUTE_REMOTE_MANAGED_PORTS") if has_any else NOTHING


def ephemeral_encryption_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts that encrypt ephemeral disks, in the format that is named if one is."""
    if not hw_flag(request, "ephemeral_encryption"):
        return NOTHING
    form = hw_choice(request, "ephemeral_encryption_format", ENCRYPTION_FORMATS)
    one = "COMPUTE_EPHEMERAL_ENCRYPTION"
    return traits(one, f"{one}_{form.upper()}") if form else traits(one)


def virtio_sound_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts with virtio sound devices, where that model is wanted."""
    wants = hw_choice(request, "sound_model", SOUND_MODELS) == "virtio"
    return traits("COMPUTE_SOUND_MODEL_VIRTIO") if wants else NOTHING


def tpm_secret_security_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts that keep the state of a virtual TPM as the flavor says: on the host alone unless it says otherwise, since
    there is no service here that keeps secrets for users, as Nova's default takes for granted.

    Raises Invalid for versions, models and ways that there are none of.
    """
    version = hw_choice(request, "tpm_version", TPM_VERSIONS)
    if version is None:
        return NOTHING
    if hw_choice(request, "tpm_model", TPM_MODELS) == "tpm-crb" and version != "2.0":
        raise Invalid(_("the TPM model tpm-crb needs TPM version 2.0"), field="flavor")
    secret = request.flavor.extra_specs.get("hw:tpm_secret_security") or "host"
    if secret not in TPM_SECRETS:
        raise Invalid(
            _(
                "hw:tpm_secret_security is one of {tpm_secrets}, not {secret}",
                tpm_secrets=", ".join(TPM_SECRETS),
                secret=secret,
            ),
            field="flavor",
        )
    return traits(f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{secret.upper()}")


def owner_nova_filter(request: ScheduleRequest, around: Surroundings) -> Addition:
    """Hosts that a compute service made, not another user of Placement; once every service is new enough to say so."""
    return traits(OWNER) if around.min_service_version >= OWNER_SINCE else NOTHING
