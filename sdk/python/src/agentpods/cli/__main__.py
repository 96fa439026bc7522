from agentpods.cli import main

main()
