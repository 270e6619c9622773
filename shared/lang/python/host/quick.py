"""Shorter ways for what the library does most: reading a plain value of an instance, or another one that it leads to,
making a resource with such values as its fields, and looking for references in one.

Each does what the library does with such a value, which it hands on as it is, and leaves all others to the library.
"""
from inmanta import resources
from inmanta.execute.proxy import DynamicProxy, ProxyContext, SequenceProxy

from southbound_host import model, wire

PLAIN = frozenset({str, int, float, bool, type(None)})
TEXT = frozenset({str})

def _read(known):
    """Returns how a proxy is asked for an attribute, given how the library does it."""
    instance_of, keep = object.__getattribute__, object.__setattr__

    def read(self, name):
        instance = instance_of(self, "__instance")
        if type(instance) is model.Instance:
            value = instance.held.get(name, model.Sent)  # which is no value
            if type(value) in PLAIN:
                keep(self, name, value)  # it does not change, and the next time this is not called
                return value
            if value is model.Sent:
                if instance.full and model.has_none(instance.of, name):
                    raise AttributeError(None, name)  # as the library says it: many ask what there is
                return known(self, name)
            value, context = instance.known(name), instance_of(self, "__context")
            if type(value) is model.Instance:
                context = ProxyContext(path=context.path + "." + name, validated=False)
                value = DynamicProxy(value, context=context)
                keep(self, name, value)
                return value
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
        of = type(value)
        if of in PLAIN:
            return value
        if of is dict and TEXT.issuperset(map(type, value)) and PLAIN.issuperset(map(type, value.values())):
            return value.copy()
        if of is list and PLAIN.issuperset(map(type, value)):
            return value.copy()
        return known(self, value, path)
    return collect

def _mapped(known):
    """Returns how a field gets its value, given how the library does it."""
    direct = {}  # of a class and a field: whether it is what the instance has

    def map_field(cls, exporter, entity_name, field_name, model_object, reference_collector=None):
        of = cls, field_name
        if of not in direct:
            direct[of] = not hasattr(cls, "get_" + field_name) and field_name not in getattr(cls, "map", ())
        if direct[of] and type(model_object) is DynamicProxy:
            instance = object.__getattribute__(model_object, "__instance")
            if type(instance) is model.Instance:
                value = instance.held.get(field_name, model.Sent)
                if type(value) in PLAIN:
                    return value
        return known(cls, exporter, entity_name, field_name, model_object, reference_collector)
    return classmethod(map_field)

class AsKnown:
    """What methods of Resource do, as the library has it. Only where it has the same is another way taken."""

    def __init__(self, _id):
        self.id = _id
        self.requires = set()
        self.resource_requires = set()
        self.unknowns = set()

        if not hasattr(self.__class__, "fields"):
            raise Exception("A resource should have a list of fields")

        for field in self.__class__.fields:
            setattr(self, field, None)

        self._references_model = {}
        self._references = {}
        self._resolved = False

    def populate(self, fields, force_fields=False):
        for field in self.__class__.fields:
            if field in fields or force_fields:
                setattr(self, field, fields[field])
            else:
                raise Exception("Resource with id {} does not have field {}".format(fields["id"], field))

        if "requires" in fields:
            # parse requires into ID's
            for require in fields["requires"]:
                self.requires.add(Id.parse_id(require))

def _is_known(name):
    """Reports whether a method of Resource does what it is known to do."""
    ours, theirs = vars(AsKnown)[name].__code__, getattr(vars(resources.Resource).get(name), "__code__", None)
    return theirs is not None and all(getattr(ours, of) == getattr(theirs, of) for of in (
        "co_code", "co_consts", "co_names", "co_varnames", "co_argcount", "co_flags", "co_exceptiontable"))

def _begun(known, setter):
    """Returns how a resource begins, given how the library does it."""
    empty = {}  # of a class: what its fields are at first

    def __init__(self, _id):
        cls = type(self)
        if cls not in empty:
            empty[cls] = cls.__setattr__ is setter and hasattr(cls, "fields") and dict.fromkeys(cls.fields)
        if empty[cls] is False:
            return known(self, _id)
        held = self.__dict__
        held["id"], held["requires"], held["resource_requires"], held["unknowns"] = _id, set(), set(), set()
        held.update(empty[cls])
        held["_references_model"], held["_references"], held["_resolved"] = {}, {}, False
    return __init__

def _filled(known, setter):
    """Returns how a resource gets its fields, given how the library does it."""

    def populate(self, fields, force_fields=False):
        cls = type(self)
        if cls.__setattr__ is not setter or "requires" in fields:
            return known(self, fields, force_fields)
        held = self.__dict__
        for name in cls.fields:
            value = fields.get(name, model.Sent)  # which is no value
            if type(value) in PLAIN:
                held[name] = value
            elif value is model.Sent:
                return known(self, fields, force_fields)  # it says so
            else:
                setter(self, name, value)
    return populate

def begin():
    """Has the library take these ways, if it is one that has them."""
    if "__getattr__" in vars(DynamicProxy):
        DynamicProxy.__getattr__ = _read(DynamicProxy.__getattr__)
    if "__setattr__" in vars(resources.Resource):
        resources.Resource.__setattr__ = setter = _set(resources.Resource.__setattr__)
        if _is_known("__init__"):
            resources.Resource.__init__ = _begun(resources.Resource.__init__, setter)
        if _is_known("populate"):
            resources.Resource.populate = _filled(resources.Resource.populate, setter)
    mapped = vars(resources.Resource).get("map_field")
    if isinstance(mapped, classmethod):
        resources.Resource.map_field = _mapped(mapped.__func__)
    collector = getattr(resources, "ReferenceSubCollector", None)
    if collector is not None and "collect_references" in vars(collector):
        collector.collect_references = _collect(collector.collect_references)
