"""The public pages: landing, categories, personas and their articles, search, the directory of agents, the status, the
API's reference, the guide; sitemap and robots.txt.

`base` has what they share. Templates are in templates/pages/, the style sheet in catalog/static/.
"""
