"""What exceptions say, and their places in the code of modules."""
import importlib, os, traceback

import inmanta.ast
from inmanta import const

def said(e):
    """Returns what an exception says, for people."""
    if isinstance(e, SystemExit):
        return f"it calls sys.exit({e.code!r})"
    if isinstance(e, SyntaxError):
        text = (e.text or "").strip()
        return f"{type(e).__name__}: {e.msg}" + (f": {text[:200]}" if text else "")
    if isinstance(e, inmanta.ast.CompilerException):
        return f"{type(e).__name__}: {e.get_message()}"
    text = "".join(traceback.format_exception_only(e)).strip()
    return text if len(text) < 10000 else text[:10000] + " …"

_ours = ("<southbound>", "<frozen", os.path.dirname(importlib.__file__) + os.sep,
         os.path.dirname(inmanta.ast.__file__).rsplit(os.sep, 1)[0] + os.sep)

def frames(e):
    """Returns the places of an exception in the code of modules. Where there is none, it returns those that are not
    of this host, of the library, and of imports."""
    chain, seen = [], set()
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        chain.append(e)
        e = e.__cause__ or (None if e.__suppress_context__ else e.__context__)
    inside, others = [], []
    for e in chain:
        if isinstance(e, SyntaxError) and e.filename and e.lineno:
            place = [e.filename, e.lineno, "", (e.text or "").strip()]
            (inside if _is_imported(e) else others).append(place)
        walked = list(traceback.walk_tb(e.__traceback__))
        for (frame, _), f in zip(reversed(walked), reversed(traceback.StackSummary.extract(walked))):
            place = [f.filename, f.lineno, f.name, f.line or ""]
            ours = f.filename.startswith("<southbound>")
            if frame.f_globals.get("__name__", "").startswith(const.PLUGINS_PACKAGE + ".") and not ours:
                inside.append(place)
            elif not f.filename.startswith(_ours):
                others.append(place)
    return (inside or others)[:20]

def _is_imported(e):
    """Reports whether a syntax error is one of a module of models that is imported, and not of a text that one reads."""
    at = e.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is None or at.tb_frame.f_code.co_filename.startswith("<frozen importlib")
