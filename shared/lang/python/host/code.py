"""The code of a version: modules that are imported from what was sent, and from nowhere else."""
import ast, importlib.abc, importlib.machinery, importlib.util, linecache, re, sys, types, warnings

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

def top(name):
    """Returns the module of a model that a module of Python is part of; "" if there is none."""
    parts = name.split(".")
    return parts[1] if parts[0] == PACKAGE and len(parts) > 1 else ""

class Parts:
    """The modules of models that were imported, and which of them each uses."""

    def __init__(self):
        self.modules = loaded()
        self.files = {}  # of each module of a model: its modules of Python
        for name in self.modules:
            self.files.setdefault(top(name), []).append(name)
        self.uses = {}

    def of(self, tops):
        """Returns the source of modules and of all that they use."""
        todo, seen = set(tops) & self.files.keys(), set()
        while todo:
            seen |= todo
            todo = set().union(*(self._used(t) for t in todo)) & self.files.keys() - seen
        return {name: m for name, m in self.modules.items() if top(name) in seen}

    def _used(self, module):
        """Returns the modules of models that one uses."""
        if module not in self.uses:
            used = self.uses[module] = set()
            for name in self.files[module]:
                package, source = self.modules[name]
                used |= uses(name, package, source, self.files)
        return self.uses[module]

# A source without any of these uses no other module, nor does one without a relative import of that kind.
_OUTSIDE = PACKAGE, "PLUGINS_PACKAGE", "\"..", "'.."
_ABOVE = re.compile(r"from[\s\\]*\.\s*\.")
_NAMED = re.compile(PACKAGE + r"\.(\w+)")

def uses(name, package, source, known):
    """Returns which of the known modules of models a module of Python names, however it imports them."""
    if not any(text in source for text in _OUTSIDE) and not _ABOVE.search(source):
        return set()
    package = name if package else name.rpartition(".")[0]
    reader = _Reader(package, known)
    with warnings.catch_warnings(action="ignore"):  # of strange texts: it was imported
        reader.read(ast.parse(source))
    return reader.found & set(known)

class _Reader:
    """Finds the modules of models that a source names: in imports, as attributes of their package, and in texts."""

    def __init__(self, package, known):
        self.package, self.known = package, known
        self.found = set()
        self.names = {PACKAGE}  # what the source calls the package of all modules

    def read(self, tree):
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        told = set()  # nodes that were looked at with what they are part of
        for node in nodes:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                told.add(node.value)  # a docstring uses nothing
            elif isinstance(node, ast.Attribute) and self._is_package(node.value):
                told.add(node.value)
                self.found.add(node.attr)
            elif isinstance(node, ast.Call) and _gets(node) and self._is_package(node.args[0]):
                told.add(node.args[0])
                self.found.add(node.args[1].value)
            elif node in told:
                pass
            elif self._is_package(node):
                if isinstance(node.ctx, ast.Load):
                    self._all()  # whoever gets the package may take anything of it
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                self._text(node.value)
            elif "PLUGINS_PACKAGE" in (getattr(node, "id", None), getattr(node, "attr", None)):
                self._all()  # what the library calls it

    def _is_package(self, node):
        return isinstance(node, ast.Name) and node.id in self.names

    def _all(self):
        self.found.update(self.known)

    def _import(self, node):
        for alias in node.names:
            if alias.name == PACKAGE:
                self.names.add(alias.asname or PACKAGE)
            self.found.add(top(alias.name))

    def _import_from(self, node):
        try:
            whole = importlib.util.resolve_name("." * node.level + (node.module or ""), self.package)
        except ImportError:
            return
        if whole != PACKAGE:
            self.found.add(top(whole))
            return
        for alias in node.names:
            if alias.name == "*":
                self._all()
            self.found.add(alias.name)

    def _text(self, text):
        """Takes a text that may be given to importlib, or be an annotation."""
        if text.rstrip(".") == PACKAGE:
            self._all()  # what follows is put together later
        self.found.update(_NAMED.findall(text))
        if text.startswith(".."):
            try:
                self.found.add(top(importlib.util.resolve_name(text, self.package)))
            except ImportError:
                pass

def _gets(call):
    """Reports whether a call is getattr with a name that is written there."""
    return (isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1
            and isinstance(call.args[1], ast.Constant) and isinstance(call.args[1].value, str))
