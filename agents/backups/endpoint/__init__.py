"""Where pods write their backups: restic's REST protocol, each pod into its own repository, and never over anything."""
