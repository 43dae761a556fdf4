"""Deployments: brokers and name servers that can be set up, driven and looked at, each with what it can do."""
