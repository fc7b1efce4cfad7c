"""Traits by which a host says what hold it has on the processes of its guests; the scheduler asks for them by these.

os_traits has none for that: guests can be held to shares of the CPU, cards to a rate, and memory is never swapped.
"""

CPU_LIMITS, NIC_LIMITS, LOCKED_MEMORY = "CUSTOM_CPU_LIMITS", "CUSTOM_NIC_LIMITS", "CUSTOM_LOCKED_MEMORY"
PROCESS_TRAITS = frozenset({CPU_LIMITS, NIC_LIMITS, LOCKED_MEMORY})
