"""Allocators that get a context: they see the attributes of an instance, or of one of its members, and set values there."""
from inmanta.util import dict_path

from inmanta_plugins.lsm import questions
from inmanta_plugins.lsm.allocation import Allocator, LSM_Allocator, path_of, text_of

class ContextV2:
    """The instance, or the member of it, that an allocator is called for."""

    def __init__(self, run, instance, attributes, path="", shape=(), sink=None):
        self._run, self._record, self._attributes = run, instance, attributes
        self._path, self._shape, self._sink = path, shape, sink
        self._set = {}

    @property
    def environment(self):
        """The environment."""
        return self._run.context.env

    @property
    def service_entity_name(self):
        """The name of the service."""
        return self._run.context.service_entity_name

    def get_instance(self):
        """Returns the attributes of the instance or of the member. Keys may be paths, too."""
        return self._attributes

    def get_full_instance(self):
        """Returns the instance with all its sets of attributes."""
        return self._record

    def get_path(self):
        """Returns the path from the instance to the member."""
        return path_of(self._path or ".")

    def set_value(self, attribute, value):
        """Sets the value of an attribute."""
        name = text_of(attribute)
        path_of(name).set_element(self._attributes, value, construct=False)
        self._set[name] = value
        self._keep(self._path + "." + name if self._path else name, value)

    def flush_set_values(self):
        """Returns the values that were set since the last call, by paths from this context."""
        out, self._set = self._set, {}
        return out

    def _keep(self, path, value):
        if self._sink is not None:
            self._sink[path] = value
        else:
            self._run.give(self._record, path, value, False)

    def _member(self, step, names, attributes):
        path = self._path + "." + step if self._path else step
        return type(self)(self._run, self._record, attributes, path, self._shape + names, self._sink)

class AllocatorV2:
    """Sets values in a context."""

    def pre_allocate(self):
        """Is called before the allocator gives values, such as to connect."""

    def post_allocate(self):
        """Is called afterwards, also after an error."""

    def needs_allocation(self, context):
        """Reports whether the allocator has to be called."""
        raise NotImplementedError

    def allocate(self, context):
        """Sets values in the context."""
        raise NotImplementedError

def _needs(allocator, context):
    if isinstance(allocator, LSM_Allocator):
        return context.get_instance().get(allocator.attribute) is None
    return allocator.needs_allocation(context)

def run(allocator, context):
    """Runs an allocator in a context."""
    if isinstance(allocator, Allocator) and not isinstance(allocator, LSM_Allocator):
        raise TypeError(f"{type(allocator).__name__} sees whole instances, so it cannot stand within another allocator")
    of = context._run
    with of.blaming(allocator, context._record):
        if not _needs(allocator, context):
            return
        if isinstance(allocator, LSM_Allocator):
            name = text_of(allocator.attribute)
            path = context._path + "." + name if context._path else name
            context.set_value(allocator.attribute, of.select(allocator, context._record, path, context._shape + (name,)))
            return
        of.prepare(allocator)
        before, first = questions(), len(of.given)
        allocator.allocate(context)
        for value in of.given[first:]:
            value["outside"] = before == questions()

def _escaped(text):
    return "".join("\\" + c if c in "\\[].*=" else c for c in str(text))

class ForEach(AllocatorV2):
    """Calls allocators for each member of a list of embedded entities."""

    def __init__(self, item, in_list, identified_by, apply):
        self.item, self.in_list, self.apply = item, in_list, apply
        self.identified_by = [identified_by] if isinstance(identified_by, str) else list(identified_by)

    def _members(self, context):
        held = context.get_instance().get(dict_path.to_path(str(self.in_list)))
        for member in [held] if isinstance(held, dict) else held or []:
            keys = "".join(f"[{_escaped(k)}={_escaped(member.get(k))}]" for k in self.identified_by)
            if isinstance(held, dict):
                keys = ""
            yield context._member(text_of(str(self.in_list) + keys), (str(self.in_list),), member)

    def needs_allocation(self, context):
        return any(_needs(a, member) for member in self._members(context) for a in self.apply)

    def allocate(self, context):
        for member in self._members(context):
            for a in self.apply:
                run(a, member)

class SetSensitiveForEach(ForEach):
    """A ForEach within a ContextV2Wrapper that tracks deletes."""

class ContextV2Wrapper(AllocatorV2):
    """Keeps the values of its allocators in one attribute, a dict. The plugin context_v2_unwrapper puts them in their place."""

    def __init__(self, fallback_attribute, *allocators, track_deletes=False):
        self.fallback_attribute, self.allocators, self.track_deletes = fallback_attribute, allocators, track_deletes

    def _wrapped(self, context):
        """Returns a context in which values are collected, and the values that are kept, those of former members left out."""
        kept = {}
        for path, value in (context.get_instance().get(self.fallback_attribute) or {}).items():
            at = path_of(path)
            try:
                at.get_element(context.get_instance())
            except LookupError:
                if self.track_deletes:
                    continue
            else:
                at.set_element(context.get_instance(), value, construct=False)
            kept[path] = value
        return ContextV2(context._run, context._record, context._attributes, "", context._shape, kept), kept

    def needs_allocation(self, context):
        before = context.get_instance().get(self.fallback_attribute) or {}
        wrapped, kept = self._wrapped(context)
        return kept != before or any(_needs(a, wrapped) for a in self.allocators)

    def allocate(self, context):
        wrapped, kept = self._wrapped(context)
        for a in self.allocators:
            run(a, wrapped)
        context.set_value(self.fallback_attribute, dict(kept))
