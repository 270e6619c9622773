"""Allocators that models call: plugins whose result is kept as a read-only attribute of the instance."""
import functools, inspect

from inmanta.ast import NotFoundException, UnknownException
from inmanta.execute.util import Unknown
from inmanta.plugins import plugin

from inmanta_plugins.lsm import ask, questions

def allocator(function=None):
    """Makes an allocator of a function: a plugin of its name. The function is called once for an attribute."""
    return _allocator if function is None else _allocator(function)

def _allocator(function):
    signature = inspect.signature(function)
    names = [p.name for p in signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if len(names) != 2:
        raise TypeError(f"the allocator {function.__name__} needs two positional arguments, the instance and the path of the "
                        f"attribute, and others by name, after a *; it has {len(names)}")

    @functools.wraps(function)
    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        service, path = (bound.arguments[n] for n in names)
        service.instance_id  # before anything else: without it, the call waits
        answer = ask("value", service, path)
        if "value" in answer:
            return answer["value"]
        if not answer["call"]:
            raise UnknownException(Unknown(None))
        before = questions()
        value = function(*bound.args, **bound.kwargs)
        if value is not None:
            ask("give", service, path, value, before == questions())
        return value

    call.__signature__ = signature
    return plugin(call)

def get_service_instances(binding):
    """Returns the instances of a service, with all their sets of attributes: those of this compile, and all others that are
    not deleted. A value that is chosen by them is chosen again if another order chooses meanwhile."""
    try:
        name = binding.service_entity_name
    except (AttributeError, NotFoundException):
        name = binding.binding.service_entity_name
    return ask("instances", name)
