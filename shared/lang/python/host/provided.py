"""The module lsm of the program, as the Python code of modules imports it. A module lsm of the project takes precedence."""
import importlib.abc, importlib.util, linecache, sys

import southbound_host

PACKAGE = "inmanta_plugins.lsm"

# The files of the host that are its modules, and whether each is a package.
_FILES = {
    PACKAGE: ("lsm", True),
    PACKAGE + ".allocation": ("lsm_allocation", False),
    PACKAGE + ".allocation_helpers": ("lsm_allocation_helpers", False),
    PACKAGE + ".allocation_v2": ("lsm_allocation_v2", True),
    PACKAGE + ".allocation_v2.framework": ("lsm_framework", False),
}

class Loader(importlib.abc.ExecutionLoader):
    """Finds and loads the modules of lsm."""

    def find_spec(self, name, path=None, target=None):
        if name not in _FILES:
            return None
        package = _FILES[name][1]
        spec = importlib.util.spec_from_loader(name, self, origin=self.get_filename(name), is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = []
        return spec

    def is_package(self, name):
        return _FILES[name][1]

    def get_filename(self, name):
        return "<southbound>/" + name.replace(".", "/") + ("/__init__.py" if self.is_package(name) else ".py")

    def get_source(self, name):
        return southbound_host.files[_FILES[name][0]]

    def exec_module(self, module):
        path, text = module.__file__, self.get_source(module.__name__)
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        super().exec_module(module)

def provide(modules):
    """Provides the module lsm to a project with these modules, unless it has one."""
    have = [f for f in sys.meta_path if isinstance(f, Loader)]
    if "lsm" in modules:
        for finder in have:
            sys.meta_path.remove(finder)
    elif not have:
        sys.meta_path.append(Loader())
