"""What exceptions say, and their places in the code of modules."""
import importlib, os, traceback

import inmanta.ast

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
    """Returns the places of an exception that are not those of this host, of the library, and of imports."""
    chain, seen = [], set()
    while e is not None and id(e) not in seen:
        seen.add(id(e))
        chain.append(e)
        e = e.__cause__ or (None if e.__suppress_context__ else e.__context__)
    out = []
    for e in chain:
        if isinstance(e, SyntaxError) and e.filename and e.lineno:
            out.append([e.filename, e.lineno, "", (e.text or "").strip()])
        for f in reversed(traceback.extract_tb(e.__traceback__)):
            if not f.filename.startswith(_ours):
                out.append([f.filename, f.lineno, f.name, f.line or ""])
    return out[:20]
