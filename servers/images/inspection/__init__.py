"""Looking into disk images, and converting them, in a process that may do nothing else."""
