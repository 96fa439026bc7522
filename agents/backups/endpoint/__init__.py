"""The endpoint where pods write their backups: restic's REST protocol. Each pod writes into its own repository and
overwrites nothing."""
