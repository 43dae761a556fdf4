"""Histories of brokers as plain data, and what rules can say of them."""
