"""Pages of who may use the installation: projects with their quotas, users with their roles."""
