"""How fast the parts are: each measured beside what else does the same work, and what is measured: stores and histories made up."""
