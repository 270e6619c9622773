"""The code of a version: modules that are imported from what was sent, and from nowhere else."""
import importlib.abc, importlib.machinery, importlib.util, linecache, sys, types

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

def serve(modules):
    """Has modules imported from what was sent. Their package itself has no code."""
    modules = {PACKAGE: [True, ""], **modules}
    sys.meta_path.insert(0, Loader(modules))

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
