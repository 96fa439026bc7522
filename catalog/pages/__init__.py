"""The public pages: landing, categories, personas and their articles, in six languages; sitemap and robots.txt.

There is one module per page, and `base` for what they share. Templates are in templates/pages/, texts in
templates/locale/ (`make translations`), the style sheet in catalog/static/.
"""
