"""Parts of the library that only its server and its agents need: they are run when something of them is used.

To import all of the library takes three times as long as to import what models use, and nearly all of the rest
is its database. A module that stands here is in its place at once, as ever, but its code is run when an attribute
is read or set for the first time, by whomever. So code finds the same, only later.
"""
import collections, importlib, importlib.machinery, importlib.util, sys, threading, types

# What nothing else relies on having been run: other modules of the library use it in functions only.
_SERVERS = {
    "inmanta.agent", "inmanta.data", "inmanta.data.sqlalchemy", "inmanta.env",
    "inmanta.protocol.methods", "inmanta.protocol.methods_v2",
}
# Names that the code of a module reads when it is imported, but only mentions, such as in an annotation.
_MENTIONED = {("inmanta.agent.handler", "inmanta.data", "LogLine")}
# What modules that register the methods of the server's API stand for: it is whole when it is looked at.
_METHODS = ("inmanta.protocol.methods", "inmanta.protocol.methods_v2")
_IMPORTED = {"__class__", "__spec__", "__loader__", "__name__", "__package__", "__path__", "__file__", "__cached__"}
_IN_FUNCTION = 1  # of the flags of code

_lock = threading.RLock()

class Module(types.ModuleType):
    """A module whose code is run later."""

    def __getattribute__(self, name):
        plain = super().__getattribute__
        if name in _IMPORTED:
            return plain(name)
        with _lock:
            loader = plain("__loader__")
            if isinstance(loader, Loader) and not loader.running:
                found = _inside(self, plain("__dict__"), name)
                if found is not None:
                    return found
                if (sys._getframe(1).f_globals.get("__name__"), self.__name__, name) in _MENTIONED:
                    if not sys._getframe(1).f_code.co_flags & _IN_FUNCTION:
                        return Mentioned(self, name)
                loader.run(self)
        return getattr(self, name) if type(self) is not Module else plain(name)

    def __setattr__(self, name, value):
        if name not in _IMPORTED and not _is_inside(self, name, value):
            self.__dict__  # runs it
        types.ModuleType.__setattr__(self, name, value)  # it may be a plain module now

    def __delattr__(self, name):
        self.__dict__  # runs it
        types.ModuleType.__delattr__(self, name)

def _is_inside(module, name, value):
    """Reports whether a value is the module of that name in a package."""
    return isinstance(value, types.ModuleType) and value.__name__ == module.__name__ + "." + name

def _inside(module, held, name):
    """Returns the module of a name in a package, for which the package needs not be run."""
    if "__path__" not in held or name.startswith("_"):
        return None
    whole = module.__name__ + "." + name
    if name in held:
        return held[name] if _is_inside(module, name, held[name]) else None
    return importlib.import_module(whole) if importlib.util.find_spec(whole) is not None else None

class Mentioned:
    """Stands for something of a module until it is more than mentioned."""

    def __init__(self, module, name):
        self._of = module, name

    def _found(self):
        return getattr(*self._of)

    def __getattr__(self, name):
        return getattr(self._found(), name)

    def __call__(self, *args, **kwargs):
        return self._found()(*args, **kwargs)

    def __mro_entries__(self, bases):
        return (self._found(),)

    def __instancecheck__(self, value):
        return isinstance(value, self._found())

    def __or__(self, other):
        return self._found() | other

    def __ror__(self, other):
        return other | self._found()

class Loader:
    """Leaves a module as it is, and runs it later."""

    def __init__(self, real):
        self.real, self.running = real, False

    def __getattr__(self, name):
        return getattr(self.real, name)

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass

    def run(self, module):
        self.running = True
        try:
            self.real.exec_module(module)
        except BaseException:
            self.running = False
            raise
        module.__spec__.loader = module.__loader__ = self.real
        module.__class__ = types.ModuleType

class Finder:
    """Finds the modules that are run later, where all others would find them."""

    def find_spec(self, name, path=None, target=None):
        if name not in _SERVERS:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if isinstance(spec.loader, importlib.machinery.SourceFileLoader):
                    spec.loader = Loader(spec.loader)
                return spec
        return None

_finder = Finder()

def begin():
    """Has these parts run later from now on."""
    sys.meta_path.insert(0, _finder)

def end():
    """Imports the library as a whole from now on, and anew. Reports whether that was not so before."""
    if _finder not in sys.meta_path:
        return False
    sys.meta_path.remove(_finder)
    for name in list(sys.modules):
        top, _, rest = name.partition(".")
        if top == "inmanta" or top == "southbound_host" and rest not in ("", "main", "wire", "later"):
            del sys.modules[name]
            vars(sys.modules.get(top, types)).pop(rest, None)
    return True

class Methods(collections.defaultdict):
    """The methods of the server's API, by name."""
    whole = False

    def _looked_at(name):
        known = getattr(collections.defaultdict, name)

        def look(self, *args):
            if not self.whole:
                self.whole = True
                for module in _METHODS:
                    importlib.import_module(module).__dict__  # runs it
            return known(self, *args)
        return look

    for _name in ("__contains__", "__getitem__", "__iter__", "__len__", "__eq__", "__repr__", "get", "items", "keys",
                  "values", "copy"):
        locals()[_name] = _looked_at(_name)

def library():
    """Imports what all parts of the host need first."""
    from inmanta.protocol import common  # before inmanta.data.model, which needs it, as inmanta.data has it
    if _finder not in sys.meta_path:
        return
    properties = getattr(common, "MethodProperties", None)
    held = getattr(properties, "methods", None)
    if type(held) is collections.defaultdict:
        properties.methods = Methods(held.default_factory, held)
    elif type(held) is not Methods:
        for module in _METHODS:
            importlib.import_module(module).__dict__  # runs it: who looks for them cannot be told
