"""The public pages: landing, categories, personas and their articles, the directory of agents, the status; sitemap and
robots.txt.

There is one module per page, and `base` for what they share. Templates are in templates/pages/, the style sheet in
catalog/static/.
"""
