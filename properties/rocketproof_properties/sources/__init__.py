"""Where a model instance comes from: the specification in one of its scopes, or a Python file of the user's."""
