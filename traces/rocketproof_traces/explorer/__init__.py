"""The explorer: a page in a browser in which one walks through a trace, as one file or served on this machine."""
