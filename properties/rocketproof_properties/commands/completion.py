"""`--install-completion`, which cyclopts provides. It has a module of its own because its import is a tenth of the start of any command."""

from cyclopts.completion.install import create_install_completion_command

from .program import app

install = create_install_completion_command(app.install_completion, add_to_startup=True)
