"""How the work of the platform grows with its agents: `python -m benchmarks.growth`."""

COMMAND = "python -m benchmarks.growth"
AGENTS = "GROWTH_AGENTS"  # the environment variable with the size of the platform
# With these the scans of payment providers look at their rows. Nothing is due, so nobody is asked.
PROVIDERS = {
    "STARS_BOT_TOKEN": "1:growth",
    "STARS_BOT_USERNAME": "growth_bot",
    "STARS_WEBHOOK_SECRET": "growth",
    "STRIPE_SECRET_KEY": "sk_test_growth",
    "STRIPE_WEBHOOK_SECRETS": "whsec_growth",
}
