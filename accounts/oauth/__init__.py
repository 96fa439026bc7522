"""OAuth 2.1 for programs that a person connects in a browser: connectors of MCP, and the command `agentpods login`.

Authlib judges the requests. A person who agrees makes a limited API key, and the program's access token is that key's
secret. So rights, spending, the list on the account's page, revoking and the export are those of keys.
"""
