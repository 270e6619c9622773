"""Allocators: they give values to read-only attributes of instances when an order is validated."""
import collections.abc, contextlib, random, sys, typing

from inmanta.ast import CompilerException, MultiUnsetException, UnknownException, UnsetException
from inmanta.util import dict_path

from inmanta_plugins.lsm import ask, questions

T = typing.TypeVar("T")

class AllocationError(Exception):
    """An allocation that cannot be."""

AllocationError.__module__ = "builtins"  # messages name it without the module

class AllocationContext:
    """Names the environment and the service that an allocation is for."""

    def __init__(self, env, service_entity_name):
        self.env, self.service_entity_name = env, service_entity_name

    environment = property(lambda self: self.env)

class AllocationStrategy:
    """Selects a value that no other instance has."""

    def select(self, requesting_instance, taken):
        raise NotImplementedError

class AnyUniqueInt(AllocationStrategy):
    """Selects any free whole number from lower to upper, both included."""

    def __init__(self, lower, upper):
        if lower > upper:
            raise ValueError(f"lower is {lower}, and upper is {upper}: there is no number between")
        self.lower, self.upper = lower, upper

    def select(self, requesting_instance, taken):
        span = self.upper - self.lower + 1
        used = {n for n in taken if isinstance(n, int) and self.lower <= n <= self.upper}
        if len(used) >= span:
            raise AllocationError(f"all values from {self.lower} to {self.upper} are used")
        at = random.randrange(span - len(used))
        for n in sorted(used):  # the at-th free number
            if n > self.lower + at:
                break
            at += 1
        return self.lower + at

class Allocator:
    """Gives values to attributes of an instance."""

    def pre_allocate(self):
        """Is called before the allocator gives values, such as to connect."""

    def post_allocate(self):
        """Is called afterwards, also after an error."""

    def get_attributes(self):
        """Returns the names of the attributes."""
        raise NotImplementedError

    def needs_allocation(self, ctx, instance):
        """Reports whether the allocator has to be called for an instance: whether an attribute has no value."""
        return any(instance["attributes"].get(name) is None for name in self.get_attributes())

    def allocate_for(self, ctx, instance):
        """Returns the values of the attributes, by their names."""
        raise NotImplementedError

class ExternalAttributeAllocator(Allocator, typing.Generic[T]):
    """Looks a value up by another attribute of the instance."""

    def __init__(self, attribute, id_attribute):
        self.attribute, self.id_attribute = attribute, id_attribute

    def get_attributes(self):
        return [self.attribute]

    def allocate_for(self, ctx, instance):
        return {self.attribute: self.allocate_for_attribute(instance["attributes"].get(self.id_attribute))}

    def allocate_for_attribute(self, id_attribute_value):
        """Returns the value that belongs to a value of the other attribute: each time the same one."""
        raise NotImplementedError

class ExternalServiceIdAllocator(Allocator, typing.Generic[T]):
    """Gets a value by the id of the instance."""

    def __init__(self, attribute):
        self.attribute = attribute

    def get_attributes(self):
        return [self.attribute]

    def allocate_for(self, ctx, instance):
        return {self.attribute: self.allocate_for_id(instance["id"])}

    def allocate_for_id(self, serviceid):
        """Returns the value that belongs to an instance: each time the same one."""
        raise NotImplementedError

class LSM_Allocator(Allocator):
    """Gives a value that no other instance of the service has, nor another member of one."""

    def __init__(self, attribute, strategy):
        self.attribute, self.strategy = attribute, strategy

    def get_attributes(self):
        return [self.attribute]

class AllocatorWrapper(Allocator):
    """Several allocators as one."""

    def __init__(self, *allocators):
        self.allocators = allocators

    def get_attributes(self):
        return [name for a in self.allocators for name in a.get_attributes()]

    def pre_allocate(self):
        for a in self.allocators:
            a.pre_allocate()

    def post_allocate(self):
        for a in self.allocators:
            a.post_allocate()

    def allocate_for(self, ctx, instance):
        out = {}
        for a in self.allocators:
            if a.needs_allocation(ctx, instance):
                out.update(a.allocate_for(ctx, instance))
        return out

_specs = {}

class AllocationSpec:
    """The allocators of a service. A binding names it in allocation_spec."""

    def __init__(self, name, *allocators):
        self.name, self.allocators = name, _flat(allocators)
        self.module = sys._getframemodulename(1)
        have = _specs.get(name)
        if have is not None and have.module != self.module:
            raise ValueError(f"the allocation spec {name!r} is defined by {have.module} and by {self.module}")
        _specs[name] = self

class AllocationSpecV2(AllocationSpec):
    """The allocators of a service that get a context."""

    def __init__(self, name, *allocators):
        super().__init__(name, *allocators)
        self.module = sys._getframemodulename(1)

def _flat(allocators):
    return [inner for a in allocators for inner in (_flat(a.allocators) if type(a) is AllocatorWrapper else [a])]

def run(name, environment, service, instances):
    """Runs a spec for instances."""
    if name not in _specs:
        have = ", ".join(sorted(_specs)) or "none"
        raise AllocationError(f"no module defines the allocation spec {name!r}; those that modules define: {have}")
    return Run(AllocationContext(environment, service)).of(_specs[name], instances)

class Run:
    """A run of a spec. If an allocator raises an exception, none of its values is kept."""

    def __init__(self, context):
        self.context, self.given, self.chosen = context, [], {}
        self.ready = []  # allocators between pre_allocate and post_allocate

    def of(self, spec, instances):
        try:
            for instance in instances:
                for allocator in spec.allocators:
                    self.one(allocator, instance)
        finally:
            with contextlib.ExitStack() as all_of_them:
                for allocator in self.ready:
                    all_of_them.callback(allocator.post_allocate)
        return self.given

    def one(self, allocator, instance):
        """Runs an allocator for an instance."""
        from inmanta_plugins.lsm.allocation_v2 import framework
        if isinstance(allocator, (framework.AllocatorV2, LSM_Allocator)):
            return framework.run(allocator, framework.ContextV2(self, instance, instance["attributes"]))
        with self.blaming(allocator, instance):
            if not allocator.needs_allocation(self.context, instance):
                return
            self.prepare(allocator)
            before = questions()
            values = allocator.allocate_for(self.context, instance)
            for name, value in dict(values or {}).items():
                self.give(instance, name, value, before == questions())
                _set(instance["attributes"], name, value)

    def give(self, instance, path, value, outside):
        """Keeps a value."""
        if value is None:
            return
        self.given.append({"id": instance["id"], "path": path, "value": value, "outside": outside})
        if instance["candidate_attributes"] is not None:
            _set(instance["candidate_attributes"], path, value)

    def prepare(self, allocator):
        """Calls pre_allocate of an allocator once."""
        if allocator not in self.ready:
            self.ready.append(allocator)
            allocator.pre_allocate()

    @contextlib.contextmanager
    def blaming(self, allocator, instance):
        """Names the allocator and the instance in the exception."""
        try:
            yield
        except (UnsetException, MultiUnsetException, UnknownException, AllocationError):
            raise
        except Exception as e:
            said = e.get_message() if isinstance(e, CompilerException) else e
            raise AllocationError(f"the allocator {type(allocator).__name__} has failed for the instance {instance['id']} of "
                                  f"{self.context.service_entity_name}: {type(e).__name__}: {said}") from e

    def select(self, allocator, instance, path, shape):
        """Returns the value that an attribute keeps, or a new one that no other instance has."""
        for name in ("candidate_attributes", "active_attributes", "rollback_attributes"):
            kept = _get(instance[name], path)
            if kept is not None:
                return kept
        taken = ask("taken", self.context.service_entity_name, path)
        chosen = self.chosen.setdefault(shape, set())
        value = allocator.strategy.select(instance, chosen.union(v for v in taken if isinstance(v, collections.abc.Hashable)))
        chosen.add(value)
        return value

def path_of(text):
    """Returns a path of this program as one of the library. That has no ; between keys, and none before a ;."""
    return dict_path.to_path(text.replace("\\;", ";"))

def text_of(path):
    """Returns a path, or the name of an attribute, as this program writes it."""
    return str(path).replace(";", "\\;")

def _get(attributes, path):
    try:
        return path_of(path).get_element(attributes) if attributes is not None else None
    except LookupError:
        return None

def _set(attributes, path, value):
    with contextlib.suppress(LookupError):
        path_of(path).set_element(attributes, value, construct=False)
