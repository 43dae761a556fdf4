"""Remoting: commands on the wire, their codes and headers, and how a server passes a request to its processor."""
