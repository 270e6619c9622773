"""Shorter ways for what the library does most: reading a plain value of an instance, and looking for references in one.

Each does what the library does with such a value, which it hands on as it is, and leaves all others to the library.
"""
from inmanta import resources
from inmanta.execute.proxy import DynamicProxy

from southbound_host import model, wire

PLAIN = frozenset({str, int, float, bool, type(None)})

def _read(known):
    """Returns how a proxy is asked for an attribute, given how the library does it."""
    instance_of = object.__getattribute__

    def read(self, name):
        instance = instance_of(self, "__instance")
        if type(instance) is model.Instance:
            value = instance.held.get(name, model.Sent)  # which is no value
            if type(value) in PLAIN:
                return value
        return known(self, name)
    return read

def _collect(known):
    """Returns how a value is looked through for references, given how the library does it."""
    def collect(self, value, path):
        return value if type(value) in PLAIN else known(self, value, path)
    return collect

def begin():
    """Has the library take these ways, if it is one that has them."""
    if "__getattr__" in vars(DynamicProxy):
        DynamicProxy.__getattr__ = _read(DynamicProxy.__getattr__)
    collector = getattr(resources, "ReferenceSubCollector", None)
    if collector is not None and "collect_references" in vars(collector):
        collector.collect_references = _collect(collector.collect_references)
