"""Properties that cannot go together, whatever the flavor: Nova refuses every boot of such an image."""

from collections.abc import Callable, Iterator, Mapping

from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names

Findings = Iterator[tuple[str, str]]

ENCRYPTION, MODEL, FIRMWARE = "hw_mem_encryption", "hw_mem_encryption_model", "hw_firmware_type"
MACHINE, STATELESS, VIDEO = "hw_machine_type", "hw_firmware_stateless", "hw_video_model"
HYPERTHREADING = "trait:HW_CPU_HYPERTHREADING"


def image_contradictions(properties: Mapping[str, str]) -> list[tuple[str, str]]:
    """(property, sentence that names it) each, of properties whose values are well formed."""
    known = present_names(properties)
    return [finding for rule in IMAGE_CONTRADICTIONS for finding in rule(known)]


def _encryption(known: Mapping[str, str]) -> Findings:
    """Encrypted memory needs UEFI and q35; amd-sev-snp and intel-tdx stateless firmware; intel-tdx no video device."""
    if not is_true(known.get(ENCRYPTION)):
        return
    model = known.get(MODEL, "amd-sev")
    if known.get(FIRMWARE) != "uefi":
        yield ENCRYPTION, _("{encryption}: needs {firmware}=uefi.", encryption=ENCRYPTION, firmware=FIRMWARE)
    if "q35" not in known.get(MACHINE, "q35"):
        yield (
            ENCRYPTION,
            _(
                "{encryption}: needs a q35 machine; {machine} is {known!r:.80}.",
                encryption=ENCRYPTION,
                machine=MACHINE,
                known=known[MACHINE],
            ),
        )
    if model in ("amd-sev-snp", "intel-tdx") and not is_true(known.get(STATELESS)):
        yield MODEL, _("{model}: {model_2} needs {stateless}=yes.", model=MODEL, model_2=model, stateless=STATELESS)
    if model == "intel-tdx" and known.get(VIDEO) != "none":
        yield MODEL, _("{model}: intel-tdx needs {video}=none.", model=MODEL, video=VIDEO)


def _tpm(known: Mapping[str, str]) -> Findings:
    """A TPM tpm-crb has version 2.0."""
    if known.get("hw_tpm_model") == "tpm-crb" and known.get("hw_tpm_version") == "1.2":
        yield "hw_tpm_model", _("hw_tpm_model: tpm-crb goes with hw_tpm_version=2.0 only, and that is 1.2.")


def _cpu_shape(known: Mapping[str, str]) -> Findings:
    """Preferred sockets, cores and threads are within the image's own maxima (0 is unset)."""
    for part in ("sockets", "cores", "threads"):
        key, max_key = f"hw_cpu_{part}", f"hw_cpu_max_{part}"
        wanted, maximum = int(known.get(key, "0")), int(known.get(max_key, "0"))
        if maximum and wanted > maximum:
            yield (
                key,
                _(
                    "{key}: is {wanted}, above {max_key}, which is {maximum}.",
                    key=key,
                    wanted=wanted,
                    max_key=max_key,
                    maximum=maximum,
                ),
            )


def _threads(known: Mapping[str, str]) -> Findings:
    """hw_cpu_thread_policy and the trait HW_CPU_HYPERTHREADING say the same: one of them is set."""
    policy = known.get("hw_cpu_thread_policy")
    if policy is not None and HYPERTHREADING in known:
        yield (
            HYPERTHREADING,
            _(
                "{hyperthreading}: cannot go with hw_cpu_thread_policy={policy}; drop one.",
                hyperthreading=HYPERTHREADING,
                policy=policy,
            ),
        )


IMAGE_CONTRADICTIONS: tuple[Callable[[Mapping[str, str]], Findings], ...] = (_encryption, _tpm, _cpu_shape, _threads)
"""The rules; their docstrings are what the documents say of them."""
