"""Steps: what a client, an administrator or a fault can ask of a deployment, as data, and the request that each becomes."""
