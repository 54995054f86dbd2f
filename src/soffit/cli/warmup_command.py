"""`soffit warmup`: compile ahead what fits need."""

from __future__ import annotations

from typing import Annotated

import typer

from soffit.cli.options import LEARNING, Command, Verbosity, with_option_groups
from soffit.cli.steps import with_remarks

ObjectsOption = Annotated[
    int,
    typer.Option("--objects", min=1, metavar="N", help="Size of the tables that will be fitted."),
]


@with_option_groups
def warmup(*, objects: ObjectsOption = 50_000, verbosity: Verbosity) -> None:
    """Compile ahead what the first fit would compile.

    Run it once when the image of a container is built. NUMBA_CACHE_DIR names the folder of the
    compiled code; it must be the same when the image is built and used.
    """
    from soffit import warmup as compile_ahead

    talk = verbosity.talk()
    with talk.working("Compiling, once"):
        done, remarks = with_remarks(lambda: compile_ahead(objects))
    for remark in remarks:
        talk.warn(remark)
    talk.say(f"Compiled {done.n_functions} functions in {done.seconds:.1f} s.")
    talk.emit({"command": "warmup", "functions": done.n_functions, "seconds": done.seconds})


WARMUP = Command("warmup", warmup, ("soffit warmup", "soffit warmup --objects 1000"), LEARNING)
