"""/guide: the documentation as a site, built of docs/ and mkdocs.yml."""
