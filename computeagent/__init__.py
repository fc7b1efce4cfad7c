"""What runs on a hypervisor. `agent` and `drivers` know neither Django nor the database, only `conductor`."""
