"""How much one message of a host may hold: lengths of texts and lists, and numbers that every column holds.

Whatever is above is refused where messages are decoded, with the field named, so that no host can fill the control
plane's tables, answers or logs. What a large, honest host tells (512 CPUs, 1,000 guests, thousands of virtual
functions) fits. Marked with CUT is what may be longer in honest reports too, and loses nothing of worth when it is
shortened: words of errors, what a guest brings about by itself. The sender shortens it (`fitted`); it is never a reason
for the rest of a message to be refused.
"""

from typing import Annotated

from msgspec import Meta

CUT = {"cut": True}

LARGEST = 2**62
"""What columns of 64 bits hold, with room for sums."""
COUNT_MAX = 2**31 - 1
"""What columns of 32 bits hold, and the most that Placement takes for an inventory."""
SECONDS_MAX = 1e9
JSON_MAX_BYTES = 32 * 1024
"""Of a JSON object of the driver's own choice, where it is stored. libvirt names some 150 features of a CPU."""

GUESTS_MAX = 4096
"""Guests that a host names in one message, where it names them only."""
GUESTS_REPORTED_MAX = 2000
"""Guests that it says something of in one message."""
GUESTS_TOGETHER = 500
"""As many as agents put into one; of more they tell in several."""
CONSOLES_MAX = 64
ORPHANS_MAX = 300
"""Guests without an instance that are listed of a host; of more it says how many."""
STEPS_MAX = 64
TRAITS_MAX = 500
CPUS_MAX = 4096
CELLS_MAX = 128
THREADS_MAX = 16
"""Threads of one core."""
DEVICES_MAX = 4096
IMAGES_MAX = 1000
POOLS_MAX = 64
IN_POOL_MAX = 100_000
"""Volumes and snapshots of one pool, told each time all of them."""
PORTS_MAX = 20_000
NETWORKS_NEAR_MAX = 256
"""Physical networks near one NUMA cell."""
PROBLEMS_MAX = 200
NETWORKS_MAX, ADDRESSES_MAX = 32, 32
"""Networks of one guest, and its addresses in one of them."""

UUID_PATTERN = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

HostName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,91}\Z", max_length=92)]
Uuid = Annotated[str, Meta(pattern=rf"^{UUID_PATTERN}\Z", max_length=36)]
UuidOrNone = Annotated[str, Meta(pattern=rf"^({UUID_PATTERN})?\Z", max_length=36)]
"""Empty: none."""
TraitName = Annotated[str, Meta(pattern=r"^[A-Z0-9_]{1,255}\Z", max_length=255)]
Word = Annotated[str, Meta(max_length=64)]
"""A digest, the name of a step or of a kind, an address."""
StepName = Annotated[str, Meta(max_length=60)]
ShortWord = Annotated[str, Meta(max_length=32)]
Name = Annotated[str, Meta(max_length=255)]
HypervisorName = Annotated[str, Meta(max_length=200)]
"""It is a provider's in Placement, whose names have no more."""
Text = Annotated[str, Meta(max_length=2000)]
Sentence = Annotated[str, Meta(max_length=4000, extra=CUT)]
"""Why something is so, in words."""
Details = Annotated[str, Meta(max_length=20_000, extra=CUT)]
ConsoleText = Annotated[str, Meta(max_length=64 * 1024, extra={**CUT, "keeps_end": True})]

Count = Annotated[int, Meta(ge=0, le=COUNT_MAX)]
Amount = Annotated[int, Meta(ge=0, le=LARGEST)]
Signed = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Counter = Annotated[int, Meta(ge=-LARGEST, le=LARGEST, extra=CUT)]
"""What a hypervisor counts, which may be out of all measure: below 0 and the largest count as unknown."""
CpuNumber = Annotated[int, Meta(ge=0, le=2**16)]
Cpus = Annotated[frozenset[CpuNumber], Meta(max_length=CPUS_MAX)]
Seconds = Annotated[float, Meta(ge=-SECONDS_MAX, le=SECONDS_MAX)]
JsonObject = Annotated[dict[Name, object], Meta(max_length=1000)]
"""Its size is judged where it is stored (JSON_MAX_BYTES)."""
