"""Shorter ways for what each process would do again while it loads modules: it compiles the same regular expressions,
the same methods of dataclasses and named tuples, and the same annotations several times.

Expressions are kept as Python has compiled them, for this very version of it: what it gives its matcher is given to
that again. So is the code of methods. The others are compiled by Python, as ever.
"""
import _frozen_importlib_external, _imp, _sre, _thread, builtins, collections, functools, marshal, re, sys, typing

import southbound_host

_MOST = 2000  # expressions and texts that are kept

class Known:
    """What earlier processes with the same build of Python have kept of a kind, and what this one adds."""

    def __init__(self, kind, *of):
        version = " ".join(map(str, (sys.version, sys.implementation.cache_tag, sys.flags.optimize, *of)))
        self.file = f"{kind}-" + _imp.source_hash(0, version.encode()).hex()
        kept = southbound_host.kept(self.file)
        self.of = marshal.loads(kept) if kept else {}
        self.before = len(self.of)

    def add(self, key, value):
        if len(self.of) < _MOST:
            self.of[key] = value

    def keep(self):
        """Keeps what was added."""
        if len(self.of) > self.before:
            try:
                southbound_host.keep(self.file, marshal.dumps(self.of))
            except ValueError:  # Python makes something of another kind there
                pass

class Expressions:
    """Compiles regular expressions while it is in the place of Python's own functions."""

    def __init__(self, compiler):
        self.compiler = compiler
        self.compile, self.make = compiler.compile, _sre.compile
        self.known = Known("expressions", _sre.MAGIC)
        self.made = {}  # what was given to the matcher last, by thread
        compiler.compile, _sre.compile = self._compile, self._make

    def _compile(self, p, flags=0):
        if not (type(p) is str or type(p) is bytes) or flags & self.compiler.SRE_FLAG_DEBUG:
            return self.compile(p, flags)
        known = self.known.of.get((p, int(flags)))
        if known is not None:
            return self.make(*known)
        thread = _thread.get_ident()
        self.made.pop(thread, None)
        out = self.compile(p, flags)
        made = self.made.pop(thread, None)
        if made is not None:
            self.known.add((p, int(flags)), made)
        return out

    def _make(self, pattern, flags, code, *rest):
        self.made[_thread.get_ident()] = pattern, int(flags), [int(c) for c in code], *rest
        return self.make(pattern, flags, code, *rest)

    def end(self):
        """Puts Python's own functions back, and keeps what was compiled meanwhile."""
        self.compiler.compile, _sre.compile = self.compile, self.make
        self.known.keep()

class Texts:
    """Compiles the texts of which Python makes the methods of dataclasses and of named tuples."""

    def __init__(self):
        self.known = Known("texts", _frozen_importlib_external.MAGIC_NUMBER.hex())
        dataclasses.exec, collections.eval = self._exec, self._eval  # where they find those of Python

    def _exec(self, text, *names):
        exec(self._code(text, "exec"), *names)

    def _eval(self, text, *names):
        return eval(self._code(text, "eval"), *names)

    def _code(self, text, mode):
        if type(text) is not str:
            return text
        known = self.known.of.get((text, mode))
        if known is not None:
            return marshal.loads(known)
        code = compile(text, "<string>", mode, dont_inherit=True)
        self.known.add((text, mode), marshal.dumps(code))
        return code

    def end(self):
        """Has Python compile them itself, and keeps what was compiled meanwhile."""
        del dataclasses.exec, collections.eval
        self.known.keep()

_ways = []  # that are gone now

def begin():
    """Goes these ways until end."""
    global dataclasses
    import dataclasses  # when parts of what it imports are run later
    compiler = getattr(re, "_compiler", None)
    if southbound_host.folder and hasattr(compiler, "compile") and hasattr(compiler, "SRE_FLAG_DEBUG"):
        _ways.append(Expressions(compiler))
    if southbound_host.folder and not hasattr(dataclasses, "exec") and not hasattr(collections, "eval"):
        _ways.append(Texts())
    if not hasattr(typing, "compile"):  # where it finds that of Python
        typing.compile = functools.cache(builtins.compile)

def end():
    """Goes the ways of Python from now on."""
    while _ways:
        _ways.pop().end()
    vars(typing).pop("compile", None)
