"""NUMA cells, pinned CPUs, pages and PCI devices: pure fitting below `domain`, claims and reports as rows."""
