"""`soffit app`: the result in the browser, to look at and to steer."""

from __future__ import annotations

import secrets
import webbrowser
from typing import Annotated

from soffit.cli.console import show_warnings
from soffit.cli.options import (
    CLUSTERING,
    UNWEIGHTED,
    Command,
    InputFile,
    Pairs,
    Reading,
    Verbosity,
    at_least,
    option,
    with_option_groups,
)
from soffit.cli.sessions import SESSIONS, Sessions, SessionSettings, open_session, with_model

PortOption = Annotated[
    int,
    option(
        "--port N",
        SESSIONS,
        "The port of the page on this computer. By default any that is free.",
        show_default=False,
        callback=at_least(0, 65535),
    ),
]
NoBrowserOption = Annotated[
    bool,
    option("--no-browser", SESSIONS, "Print the address only, and do not open a browser."),
]


@with_option_groups
def app(
    file: InputFile,
    *,
    settings: SessionSettings,
    sessions: Sessions,
    reading: Annotated[Reading, UNWEIGHTED],
    pairs: Pairs,
    port: PortOption = 0,
    no_browser: NoBrowserOption = False,
    verbosity: Verbosity,
) -> None:
    """Look at the clusters in the browser and steer them.

    Shows a map and a table of your data, asks the questions that settle most, and merges, splits
    and names clusters; the model follows. Each step is saved, and the page works offline: only
    this computer can reach it, with the token in its address. Ctrl-C ends it; run it again to go
    on.
    """
    from soffit.io.data_error import need

    need("starlette", "app", "soffit app")
    need("uvicorn", "app", "soffit app")
    from soffit.app.server import HOST, listening, serve
    from soffit.app.view import View
    from soffit.app.worker import Worker

    talk = verbosity.talk()
    sock = listening(port)
    session, folder = open_session(talk, file, sessions, settings, reading=reading, pairs=pairs)
    outcome = with_model(session, talk, f"Clustering {session.n_objects} objects")
    show_warnings(talk, outcome.summary)
    view = View(session, Worker(session).start(), folder, title=file.name)
    token = secrets.token_urlsafe(24)
    address = f"http://{HOST}:{sock.getsockname()[1]}/?token={token}"
    talk.say(f"Open {address}")
    talk.say(f"Answers and edits are saved in {folder.path}. Ctrl-C ends the app.", style="dim")
    talk.emit({"command": "app", "address": address, "session": str(folder.path)})
    talk.flush()
    if not no_browser:
        webbrowser.open(address)
    serve(view, sock, token)


APP = Command(
    "app",
    app,
    (
        "soffit app flowers.csv",
        "soffit app flowers.csv -k 3 --drop species --no-browser",
    ),
    CLUSTERING,
)
