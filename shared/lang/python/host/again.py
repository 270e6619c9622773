"""Shorter ways for what each process would do again while it loads modules: it compiles the same regular expressions,
and the same annotations several times.

Expressions are kept as Python has compiled them, for this very version of it: what it gives its matcher is given to
that again. The others are compiled by Python, as ever.
"""
import _imp, _sre, _thread, builtins, functools, marshal, re, sys, typing

import southbound_host

_MOST = 2000  # expressions that are kept

class Expressions:
    """Compiles regular expressions while it is in the place of Python's own functions."""

    def __init__(self, compiler):
        self.compiler = compiler
        self.compile, self.make = compiler.compile, _sre.compile
        version = f"{sys.version} {sys.implementation.cache_tag} {_sre.MAGIC}"
        self.file = "expressions-" + _imp.source_hash(0, version.encode()).hex()
        kept = southbound_host.kept(self.file)
        self.known = marshal.loads(kept) if kept else {}
        self.before = len(self.known)
        self.made = {}  # what was given to the matcher last, by thread
        compiler.compile, _sre.compile = self._compile, self._make

    def _compile(self, p, flags=0):
        if not (type(p) is str or type(p) is bytes) or flags & self.compiler.SRE_FLAG_DEBUG:
            return self.compile(p, flags)
        known = self.known.get((p, int(flags)))
        if known is not None:
            return self.make(*known)
        thread = _thread.get_ident()
        self.made.pop(thread, None)
        out = self.compile(p, flags)
        made = self.made.pop(thread, None)
        if made is not None and len(self.known) < _MOST:
            self.known[p, int(flags)] = made
        return out

    def _make(self, pattern, flags, code, *rest):
        self.made[_thread.get_ident()] = pattern, int(flags), [int(c) for c in code], *rest
        return self.make(pattern, flags, code, *rest)

    def end(self):
        """Puts Python's own functions back, and keeps what was compiled meanwhile."""
        self.compiler.compile, _sre.compile = self.compile, self.make
        if len(self.known) > self.before:
            try:
                southbound_host.keep(self.file, marshal.dumps(self.known))
            except ValueError:  # what Python gives its matcher is of another kind there
                pass

_expressions = None

def begin():
    """Goes these ways until end."""
    global _expressions
    compiler = getattr(re, "_compiler", None)
    if southbound_host.folder and hasattr(compiler, "compile") and hasattr(compiler, "SRE_FLAG_DEBUG"):
        _expressions = Expressions(compiler)
    if not hasattr(typing, "compile"):  # where it finds that of Python
        typing.compile = functools.cache(builtins.compile)

def end():
    """Goes the ways of Python from now on."""
    global _expressions
    if _expressions is not None:
        _expressions.end()
        _expressions = None
    vars(typing).pop("compile", None)
