"""Remoting: commands as they travel, their codes and headers, and how a server hands a request to its processor."""
