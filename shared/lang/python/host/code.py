"""The code of a version: modules that are imported from what was sent, and from nowhere else."""
import importlib.abc, importlib.machinery, importlib.util, linecache, re, sys, types

PACKAGE = "inmanta_plugins"

class Loader(importlib.abc.ExecutionLoader):
    """Loads the modules of a version."""

    def __init__(self, modules):
        self.modules = modules  # name: [whether it is a package, source]

    def find_spec(self, name, path=None, target=None):
        if name != PACKAGE and not name.startswith(PACKAGE + "."):
            return None
        if name not in self.modules:
            raise ModuleNotFoundError(f"the code of this version has no module {name!r}", name=name)
        package = self.modules[name][0]
        spec = importlib.util.spec_from_loader(name, self, origin=self.get_filename(name), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = []
        return spec

    def is_package(self, name):
        return self.modules[name][0]

    def get_filename(self, name):
        return filename(name, self.modules[name][0])

    def get_source(self, name):
        return self.modules[name][1]

    def exec_module(self, module):
        name = module.__name__
        text = self.get_source(name)
        linecache.cache[module.__file__] = (len(text), None, text.splitlines(True), module.__file__)
        super().exec_module(module)

def filename(name, package):
    """Returns how the file of a module is called in messages."""
    return name.replace(".", "/") + ("/__init__.py" if package else ".py")

_sent = {PACKAGE: [True, ""]}  # the package of all modules has no code itself

def serve(modules):
    """Has modules imported from what was sent, besides those that were sent before."""
    _sent.update(modules)
    if not any(isinstance(f, Loader) for f in sys.meta_path):
        sys.meta_path.insert(0, Loader(_sent))

def loaded():
    """Returns the source of the modules of models that were imported: by name, whether it is a package, and its text."""
    out = {}
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(PACKAGE + ".") or not isinstance(module, types.ModuleType):
            continue
        spec = module.__spec__
        if spec is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
            continue
        source = spec.loader.get_source(name)
        if isinstance(source, bytes):  # of modules in the modulepath
            source = importlib.util.decode_source(source)
        if source is not None:
            out[name] = [spec.submodule_search_locations is not None, source]
    return out

# Where a source names others: whole names, what is imported from their package, and relative names that lead out
# of a module.
_NAMED = re.compile(PACKAGE + r"\.(\w+)")
_LIST = r"(\((?:#[^\n]*|[^)#])*\)|(?:\\\r?\n|[^\n])*)"
_FROM = re.compile(r"from\s+" + PACKAGE + r"\s+import\s+" + _LIST)
_RELATIVE = re.compile(r"from\s+(\.{2,}[\w.]*)\s+import\s+" + _LIST)

def top(name):
    """Returns the module of a model that a module of Python is part of; "" if there is none."""
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""

class Parts:
    """The modules of models that were imported, and which of them each uses."""

    def __init__(self):
        self.modules = loaded()
        self.uses = {}
        for name, (package, source) in self.modules.items():
            used = self.uses.setdefault(top(name), set())
            used.update(_named(name if package else name.rpartition(".")[0], source))

    def of(self, tops):
        """Returns the source of modules and of all that they use."""
        todo, seen = set(tops), set()
        while todo:
            seen |= todo
            todo = set().union(*(self.uses.get(t, ()) for t in todo)) & self.uses.keys() - seen
        return {name: m for name, m in self.modules.items() if top(name) in seen}

def _named(package, source):
    """Yields the modules that a source names, which may be a few too many: texts and comments count."""
    yield from _NAMED.findall(source)
    for names in _FROM.findall(source):
        yield from re.findall(r"\w+", names)
    for name, names in _RELATIVE.findall(source):
        try:
            whole = importlib.util.resolve_name(name, package)
        except ImportError:
            continue
        if top(whole):
            yield top(whole)
        else:
            yield from re.findall(r"\w+", names)
