"""The model as Python code sees it: entities, instances, the project and the context of a call."""
import collections.abc, functools, inspect, os

import inmanta.ast
from inmanta.ast import Location, MultiUnsetException, Namespace, NotFoundException
from inmanta.ast import OptionalValueException, TypeNotFoundException, UnsetException
from inmanta.ast import attribute as attributes, entity as entities, type as model_types
import inmanta.module, inmanta.plugins, inmanta.resources
from inmanta.execute import runtime
from inmanta.execute.proxy import DynamicProxy
from inmanta.execute.util import NoneValue, Unknown
from inmanta.references import Reference

from southbound_host import server, wire

_place = Location("<model>", 1)
root = Namespace("__root__")
_types = {}
_instances = {}
whole = False  # the model is complete: what an instance holds is read at once

def reset():
    """Forgets the model, before another one of the same process."""
    global whole
    for i in _instances.values():
        i.over = True
    _types.clear()
    _instances.clear()
    _numbers.clear()  # an equal reference of an earlier model may have changed since
    facts.reset()
    whole = False

def namespace(name):
    """Returns the namespace of a name."""
    at = root
    for part in name.split("::"):
        child = at.get_child(part)
        if child is None:
            child = Namespace(part, at)
        at = child
    return at

_primitives = {
    "string": model_types.String(), "int": model_types.Integer(), "float": model_types.Float(),
    "number": model_types.Number(), "bool": model_types.Bool(), "list": model_types.LiteralList(),
    "dict": model_types.LiteralDict(),
}

class Entity(entities.Entity):
    """A type of the model."""
    _parents = None  # the names of all that it extends, once they were asked for

    def get_all_instances(self):
        answer = wire.ask(["instances", self.get_full_name()])
        return [wire.decode(x) for x in answer[1]]

    def get_all_parent_names(self):
        if self._parents is None:
            self._parents = super().get_all_parent_names()
        return list(self._parents)

    def __repr__(self):
        return f"Entity({self.get_full_name()})"

    def from_python(self, value, resolver, queue, location):
        """Makes an instance of a dataclass."""
        import dataclasses
        from inmanta.execute.proxy import DynamicUnwrapContext
        from inmanta.references import AttributeReference
        from southbound_host import plugins
        fields = [f.name for f in dataclasses.fields(plugins.dataclass_of(self.get_full_name()))]
        if isinstance(value, Reference):
            held = {n: AttributeReference(reference=value, attribute_name=n) for n in fields}
        else:
            context = DynamicUnwrapContext(resolver, queue, location, type_of)
            held = {n: DynamicProxy.unwrap(getattr(value, n), dynamic_context=context) for n in fields}
        held = {n: wire.encode(v) for n, v in held.items()}
        answer = wire.ask(["make", self.get_full_name(), {"d": held}])
        if answer[0] == "error":
            raise inmanta.ast.RuntimeException(None, answer[1])
        out = wire.decode(answer[1])
        out.dataclass_self = value
        return out

def type_of(python_type):
    """Returns the type of the model that a type of Python stands for."""
    from southbound_host import plugins
    if isinstance(python_type, type) and plugins.is_dataclass(python_type):
        return entity(plugins.entity_of(python_type))
    return inmanta.plugins.to_dsl_type(python_type, _place, root)

def entity(name):
    """Returns the entity of a full name; None if there is none."""
    found = _types.get(name)
    if found is None:
        answer = wire.ask(["type", name])
        if answer[0] == "none":
            return None
        found = _define(name, answer[1]["d"])
    return found

def _define(name, d):
    space, last = name.rsplit("::", 1)
    out = Entity(last, namespace(space), d["doc"])
    _types[name] = out
    for parent in d["parents"]:
        p = entity(parent)
        out.parent_entities.append(p)
        p.child_entities.append(out)
    ends = []
    for a in d["attributes"]:
        attr, of, multi, nullable, relation = a
        if relation is None:
            attributes.Attribute(out, _primitives.get(of, model_types.Any()), attr, _place, multi, nullable)
        else:
            ends.append((attr, of, relation))
    for attr, of, (low, high, inverse) in ends:
        target = out if of == name else entity(of)
        end = attributes.RelationAttribute(out, target, attr, _place)
        end.set_multiplicity((low, None if high < 0 else high))
        if inverse:
            end.end = target.attributes.get(inverse)
            if end.end is not None:
                end.end.end = end
    out._index_def.extend(d["indexes"])
    out.get_attribute = out.get_all_attributes().get  # it has all, and so do those that it extends
    return out

class Variable:
    """An attribute of an instance."""
    __slots__ = ("owner", "name", "location", "provider")

    def __init__(self, owner, name):
        self.owner, self.name, self.location, self.provider = owner, name, _place, None

    def __hash__(self):
        return hash((self.owner.number, self.name))

    def __eq__(self, other):
        return isinstance(other, Variable) and other.owner is self.owner and other.name == self.name

    def is_ready(self):
        try:
            self.get_value()
        except UnsetException:
            return False
        except inmanta.ast.CompilerException:
            pass
        return True

    def get_value(self):
        return self.owner.read(self.name)

class Sent:
    """A value as it was sent."""
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

class Instance(runtime.Instance):
    """An instance of an entity. What it holds is asked for once."""
    __slots__ = ("number", "held", "of", "where", "over", "full", "deployed")

    def __init__(self, number, of):
        self.number, self.of, self.held, self.where = number, of, {}, None
        self.full = False  # all that it holds is here
        self.deployed = ()  # the names of attributes whose values are put together where the resource is deployed
        self.dataclass_self, self.over = None, False
        self.locations = []
        self.sid = number
        self.implementations = set()

    @property
    def type(self):
        return entity(self.of)

    @property
    def slots(self):
        return {n: Variable(self, n) for n in self.type.get_all_attribute_names()}

    def get_type(self):
        return self.type

    def get_location(self):
        if self.where is None:
            file, line = wire.ask(["where", self.number])[1:]
            self.where = Location(file, line)
        return self.where

    location = property(get_location)

    def get_attribute(self, name):
        return Variable(self, name)

    def read(self, name):
        held = self.held
        if name in held:
            return self.known(name)
        if self.over:
            raise inmanta.ast.RuntimeException(None, f"{self} is of an earlier model")
        if whole:
            if not self.full:
                _fill(self.number)
            if name in held:
                return self.known(name)
            kind = "none" if self.type.get_attribute(name) is None else "missing"
        else:
            answer = wire.ask(["get", self.number, name])
            kind = answer[0]
        if kind == "v":
            value = held[name] = wire.decode(answer[1])
            return value
        if kind == "unset":
            raise UnsetException(f"{self.of}.{name} is not known yet", Variable(self, name))
        if kind == "none":
            raise NotFoundException(None, name, f"could not find attribute with name: {name} in {self.of}")
        raise OptionalValueException(self, self.type.get_attribute(name))

    def puts_together(self, name):
        """Reports whether the value of an attribute is put together where the resource is deployed. The model is whole."""
        if not self.full:
            _fill(self.number)
        return name in self.deployed

    def known(self, name):
        """Returns what an attribute holds. What that is made of may ask for others of this instance."""
        value = self.held[name]
        if type(value) is Sent:
            value = self.held[name] = wire.decode(value.value)
        return value

    def verify_done(self):
        return True

    def __hash__(self):
        return self.number

    def __lt__(self, other):
        return self.number < other.number

    def __repr__(self):
        return f"{self.of} {self.number:02x}"

    def __str__(self):
        return f"{self.of} (instance {self.number})"

_PLAIN = frozenset({int, float, bool, type(None)})

def _fill(number):
    """Reads what an instance holds, and others with it that are likely to be read next."""
    plain = _PLAIN if wire.has_special() else _PLAIN | {str}
    for other, of, held, deployed in wire.ask(["all", number])[1]:
        found = instance((other, of))
        found.full, found.deployed = True, deployed
        for name, value in held["d"].items():
            found.held.setdefault(name, value if type(value) in plain else Sent(value))

def instance(x):
    number, of = x
    found = _instances.get(number)
    if found is None:
        found = _instances[number] = Instance(number, of)
    return found

wire.decoder("e", instance)
class Fact(Unknown):
    """A fact of a resource that is not known yet. What is computed from one is another unknown value."""

    def __init__(self, sent):
        super().__init__(None)
        self.sent = sent  # why it is not known, the number of the resource, and the name

wire.decoder("u", lambda x: Fact(x) if type(x) is list else Unknown(None))
wire.decoder("r", lambda i: wire.references[i])
wire.register(Instance, lambda v: {"e": v.number})
wire.null = NoneValue()
wire.register(NoneValue, lambda v: None)
wire.register(Fact, lambda v: {"u": v.sent})

def _unknown(v):
    """Returns an unknown value as it is sent. One whose source is a resource is the fact that was asked for last."""
    source = v.source
    of = source._get_instance() if isinstance(source, DynamicProxy) else source
    name = facts.asked.get(of.number) if isinstance(of, Instance) else None
    if name is None:
        return {"u": "a plugin says so"}
    return {"u": [f"the fact {name} is not known yet", of.number, name]}

wire.register(Unknown, _unknown)

class Facts:
    """The facts of resources, where code of modules has those of the compiler: by the id of the resource."""

    def __init__(self):
        self.known = {}  # by resource id and name, for tests
        self.asked = {}  # the name of the unknown fact that was asked for last, by the number of the instance
        self.resource = None  # the instance whose id was asked for last

    def reset(self):
        self.asked, self.resource = {}, None

    def __contains__(self, resource_id):
        return True

    def __getitem__(self, resource_id):
        return FactsOf(self, resource_id)

    def __len__(self):
        return len(self.known)

    def items(self):
        """Returns the facts that a test has set: std makes references to these of it."""
        return self.known.items()

class FactsOf:
    """The facts of a resource."""

    def __init__(self, facts, resource_id):
        self.facts, self.known = facts, facts.known.get(resource_id, {})

    def __contains__(self, name):
        if name in self.known:
            return True
        if self.facts.resource is not None:
            self.facts.asked[self.facts.resource] = name
        return False

    def __getitem__(self, name):
        return self.known[name]

facts = Facts()

def _noting(to_id):
    """Returns the function of the library that makes ids of resources. It notes the instance, whose facts may be asked
    for next."""
    @functools.wraps(to_id)
    def noted(resource):
        of = resource._get_instance() if isinstance(resource, DynamicProxy) else resource
        facts.resource = of.number if isinstance(of, Instance) else None
        return to_id(resource)
    return noted

inmanta.resources.to_id = _noting(inmanta.resources.to_id)

_numbers = {}  # of references that may be equal, by _alike

def _alike(r):
    """Returns a key that equal references share. The library compares what they were made of, and has no hash of it."""
    if type(r).__eq__ is not Reference.__eq__:
        return type(r)
    return type(r), tuple(sorted((name, _hash(v)) for name, v in r.arguments.items()))

def _hash(v):
    try:
        return hash(v)
    except TypeError:
        return 0

def _reference(r):
    """Returns a reference as it is sent. Equal references have one number, so they are one value of the model."""
    same = _numbers.setdefault(_alike(r), [])
    i = next((n for n in same if wire.references[n] is r or wire.references[n] == r), None)
    if i is None:
        i = len(wire.references)
        wire.references.append(r)
        same.append(i)
    of = r._model_type
    return {"r": [i, getattr(type(r), "type", type(r).__name__), of.type_string_internal() if of else ""]}

wire.register(Reference, _reference)

_functions = []

def _function(f):
    """Keeps a function that plugins hand on to others."""
    if whole:
        raise wire.Unfit("a function, which a resource cannot hold")
    _functions.append(f)
    return {"p": [len(_functions) - 1, getattr(f, "__qualname__", type(f).__name__)]}

wire.decoder("p", lambda i: _functions[i])
wire.register(collections.abc.Callable, _function)

def _built_in(x):
    """Returns a reference that a plugin of std in the program has made, as std in Python has it."""
    kind, value, on = x
    try:
        from inmanta_plugins import std
    except ImportError:
        std = None
    value = wire.decode(value)
    if std is not None and kind == "EnvironmentReference":
        return std.create_environment_reference(value)
    if std is not None and kind == "FactReference":
        return _fact(std.create_fact_reference, wire.decode(on), value)
    if std is not None and kind == "IntReference":
        return std.create_int_reference(value)
    why = (f"{kind} cannot be used by code in Python: its value is known when resources are deployed, and only a field "
           "that a class takes from an attribute as it is can have it")
    if whole and hasattr(inmanta.ast, "UnexpectedReference"):  # the library names the place
        raise inmanta.ast.UnexpectedReference(reference=None, message=why)
    raise inmanta.ast.RuntimeException(None, why)

def _fact(make, on, name):
    """Makes a reference to a fact. Some releases of std want to know the context of the call."""
    args = [DynamicProxy.return_value(on), name]
    first = next(iter(inspect.signature(make).parameters.values()))
    if first.annotation is inmanta.plugins.Context:
        args.insert(0, Context(None, "__config__", _place.file, _place.lnr))
    return make(*args)

wire.decoder("o", _built_in)

class Module:
    """A module of the project."""

    def __init__(self, name, path):
        self.name, self._path, self.path = name, path, path

    def get_plugin_dir(self):
        return os.path.join(self._path, "plugins")

class Project(inmanta.module.Project):
    """The project, as far as modules ask for it."""

    def __init__(self, path, modules):
        self._path = path
        self.modules = {name: Module(name, at) for name, at in modules.items()}
        self.root_ns = root

    @property
    def project_path(self):
        return self._path

    @property
    def metadata(self):
        return inmanta.module.ProjectMetadata(name=os.path.basename(self._path) or "project")

    def get_modules(self):
        return dict(self.modules)

    def get_root_namespace(self):
        return root

def project(path, modules):
    """Makes a project the current one of the library."""
    inmanta.module.Project._project = Project(path, modules)

class Resolver(runtime.Resolver):
    """What the caller of a plugin sees."""
    __slots__ = ("space",)

    def __init__(self, space):
        self.space, self.dataflow_graph = space, None

    def lookup(self, name, root=None):
        seen = Seen(name)
        if seen.ask()[0] not in ("v", "unset"):
            raise NotFoundException(None, name)
        return seen

    def get_root_resolver(self):
        return self

class Seen:
    """A variable that the caller sees."""

    def __init__(self, name):
        self.name, self.location, self.answer = name, _place, None

    def ask(self):
        if self.answer is None or self.answer[0] == "unset":
            self.answer = wire.ask(["var", self.name])
        return self.answer

    def get_value(self):
        answer = self.ask()
        if answer[0] == "v":
            return wire.decode(answer[1])
        if answer[0] == "unset":
            raise UnsetException(f"{self.name} is not known yet", self)
        raise NotFoundException(None, self.name)

    value = property(get_value)

class Types:
    """The types of the model by their names."""

    def __getitem__(self, name):
        found = _primitives.get(name) or entity(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name):
        return name in _primitives or entity(name) is not None

    def get(self, name, default=None):
        return self[name] if name in self else default

    def _names(self):
        return wire.ask(["types"])[1]

    def __iter__(self):
        return iter(self._names())

    def keys(self):
        return self._names()

    def values(self):
        return [self[n] for n in self._names()]

    def items(self):
        return [(n, self[n]) for n in self._names()]

    def __len__(self):
        return len(self._names())

class Result:
    """The result of a plugin that Python code calls itself, of any type."""

    def validate(self, value):
        return True

class Compiler:
    """Stands where the library has its compiler."""
    _plugins = None
    refs = {"facts": facts}

    def get_plugins(self):
        """Returns all plugins in Python, as filters of templates want them."""
        if self._plugins is None:
            self._plugins = {}
            for name, cls in inmanta.plugins.PluginMeta.get_functions().items():
                plugin = cls(namespace(name.rsplit("::", 1)[0]))
                plugin.return_type = Result()
                self._plugins[name] = plugin
        return self._plugins

    def get_types(self):
        return types

class Queue:
    """Stands where the compiler has its scheduler."""

    def get_types(self):
        return types

    def get_compiler(self):
        return compiler

compiler = Compiler()

types = Types()
queue = Queue()

class Owner:
    """The call in the model."""

    def __init__(self, space, file, line):
        self.namespace, self.location = namespace(space), Location(file, line)

    def get_location(self):
        return self.location

class Context(inmanta.plugins.Context):
    """The context of a call."""

    def __init__(self, plugin, space, file, line):
        self.owner = Owner(space, file, line)
        self.plugin, self.queue, self.result, self.compiler = plugin, queue, None, compiler
        self.resolver = Resolver(self.owner.namespace)

    def get_client(self):
        return server.client

    def get_sync_client(self):
        return server.sync_client

def unset(e):
    """Returns the variables without which a call cannot go on."""
    found = getattr(e, "result_variables", None)
    if found is None:
        found = [e.get_result_variable()]
    out = []
    for v in found:
        if isinstance(v, Variable):
            out.append([v.owner.number, v.name])
        elif isinstance(v, Seen):
            out.append([-1, v.name])
    return out
