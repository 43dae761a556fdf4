"""The command `docs`, which shows the documentation."""

from __future__ import annotations

from ..reports.exitcode import OK
from .common import Flag


def docs(name: str | None = None, /, *, path: Flag = False) -> int:
    """Show a page of the installed documentation; without a name, the list of pages.

    Parameters
    ----------
    name
        A page, such as porting or ci.
    path
        Print the path of the page's file instead of the page. Without a name: the path of the site's first page, or of the folder.
    """
    from ..reports.output import Output, Page, TableRow
    from . import pages as documents

    if name is not None:
        file = documents.page(name)
        if path:
            Page().line(str(file))
            return OK
        from rich.markdown import Markdown

        Output().print(Markdown(file.read_text("utf-8"), hyperlinks=False))
        return OK
    if path:
        Page().line(str(documents.site() or documents.folder()))
        return OK
    page, names = Page(), {file: key for key, file in documents.pages().items()}
    for section, paths in documents.SECTIONS.items():
        page.line(section, "bold")
        files = [documents.folder() / file_name for file_name in paths]
        page.table(
            TableRow((f"rocketproof docs {names[file]}", kind), documents.title(file))
            for file, kind in zip(files, paths.values(), strict=True)
        )
    return OK
