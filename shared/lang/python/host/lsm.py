"""The module lsm for the Python code of modules: allocators. docs/catalog.md of Southbound describes it."""
import collections.abc

from inmanta.execute.proxy import DictProxy, DynamicProxy, SequenceProxy
from inmanta.execute.util import NoneValue
from inmanta.plugins import plugin

_questions = 0  # how often the inventory was asked what instances have

def ask(what, *args):
    """Asks the program something of the inventory."""
    from southbound_host import wire
    global _questions
    if what in ("taken", "instances"):
        _questions += 1
    kind, answer = wire.ask(["lsm", what, *map(_sent, args)])
    if kind == "error":
        raise refused(answer)
    return plain(wire.decode(answer))

def questions():
    """Returns how often the inventory was asked. What was chosen by an answer is chosen again if others choose meanwhile."""
    return _questions

def refused(message):
    """Returns the error of an allocation that cannot be."""
    from inmanta_plugins.lsm.allocation import AllocationError
    return AllocationError(message)

def _sent(value):
    from southbound_host import wire
    return wire.encode(DynamicProxy.unwrap(value))

class Attributes(dict):
    """Attributes of an instance or of a member. Keys may be paths, too."""

    def _at(self, path):
        return path.get_element(self)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else self._at(key)

    def __contains__(self, key):
        if isinstance(key, str):
            return super().__contains__(key)
        try:
            self._at(key)
        except LookupError:
            return False
        return True

    def get(self, key, default=None):
        return self[key] if key in self else default

def plain(value):
    """Returns a value of a model without proxies: lists, and Attributes in place of dicts."""
    if isinstance(value, (collections.abc.Mapping, DictProxy)):
        return Attributes((k, plain(value[k])) for k in value)
    if isinstance(value, (list, tuple, SequenceProxy)):
        return [plain(v) for v in value]
    return None if isinstance(value, NoneValue) else value

@plugin
def run_allocation_spec(spec: "string", environment: "string", service: "string", instances: "list") -> "list":
    """Runs the allocators of a spec for instances, and returns the values that they give: dicts of id, path, value, and
    outside, which is set if a value does not follow from the inventory."""
    from inmanta_plugins.lsm import allocation
    return allocation.run(spec, environment, service, plain(instances))
