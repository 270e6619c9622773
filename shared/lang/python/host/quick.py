"""Shorter ways for what the library does most: reading a plain value of an instance, or another one that it leads to,
keeping such a value as a field of a resource, and looking for references in one.

Each does what the library does with such a value, which it hands on as it is, and leaves all others to the library.
"""
from inmanta import resources
from inmanta.execute.proxy import DynamicProxy, ProxyContext, SequenceProxy

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
            if value is model.Sent:
                if instance.full and model.has_none(instance.of, name):
                    raise AttributeError(None, name)  # as the library says it: many ask what there is
                return known(self, name)
            value, context = instance.known(name), instance_of(self, "__context")
            if type(value) is model.Instance:
                path = context.path + "." + name
                return DynamicProxy(value, context=ProxyContext(path=path, validated=False))
            if type(value) is list:
                return SequenceProxy(value, context=context.nested(relative_path="." + name))
        return known(self, name)
    return read

def _set(known):
    """Returns how a field of a resource is set, given how the library does it."""
    def set(self, name, value):
        if type(value) in PLAIN:
            self.__dict__[name] = value
        else:
            known(self, name, value)
    return set

def _collect(known):
    """Returns how a value is looked through for references, given how the library does it."""
    def collect(self, value, path):
        return value if type(value) in PLAIN else known(self, value, path)
    return collect

def begin():
    """Has the library take these ways, if it is one that has them."""
    if "__getattr__" in vars(DynamicProxy):
        DynamicProxy.__getattr__ = _read(DynamicProxy.__getattr__)
    if "__setattr__" in vars(resources.Resource):
        resources.Resource.__setattr__ = _set(resources.Resource.__setattr__)
    collector = getattr(resources, "ReferenceSubCollector", None)
    if collector is not None and "collect_references" in vars(collector):
        collector.collect_references = _collect(collector.collect_references)
