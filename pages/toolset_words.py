"""The texts of catalog/data/toolsets.yaml, for the translators."""

from django.utils.translation import gettext_noop

NAMES = [
    gettext_noop("Web Search & Scraping"),
    gettext_noop("Web Search only"),
    gettext_noop("File Operations"),
    gettext_noop("Terminal & Processes"),
    gettext_noop("Code Execution"),
    gettext_noop("Image Analysis"),
    gettext_noop("Image Generation"),
    gettext_noop("Text-to-Speech"),
    gettext_noop("Speech-to-Text"),
    gettext_noop("Memory"),
    gettext_noop("Session Search"),
    gettext_noop("Task Planning"),
    gettext_noop("Skills"),
    gettext_noop("Task Delegation"),
    gettext_noop("Scheduled Tasks"),
    gettext_noop("Agent-to-Agent"),
]
DESCRIPTIONS = [
    gettext_noop("Search the web and read the pages it finds."),
    gettext_noop("Search the web and see titles and snippets, without opening pages."),
    gettext_noop("Read, search, write and edit files in the agent's own workspace."),
    gettext_noop("Run shell commands and background processes in the agent's own space."),
    gettext_noop("Write and run short programs to compute an answer."),
    gettext_noop("Look at an image and answer questions about it."),
    gettext_noop("Make images from a description."),
    gettext_noop("Speak replies aloud."),
    gettext_noop("Understand voice messages."),
    gettext_noop("Remember facts about the owner and the work between conversations."),
    gettext_noop("Look up what was said in earlier conversations."),
    gettext_noop("Keep a list of steps while working on a longer task."),
    gettext_noop("List, read and use the skills installed for the agent."),
    gettext_noop("Give parts of a task to sub-agents that work at the same time."),
    gettext_noop("Run a prompt at a set time, once or repeatedly."),
    gettext_noop("Answer other agents, and ask those that the owner lists as peers."),
]
