"""The module unittest of each test: resources that exist in the memory of the test only."""

states = {}  # the simulated resources: their values by name

def reset():
    """Removes all simulated resources."""
    states.clear()

MODEL = '''
entity Resource extends std::PurgeableResource:
    """
        A resource that exists in the memory of a test.

        :attr skip: its handler skips it
        :attr fail: its handler fails
        :attr fail_deploy: its handler fails, except in a dry run
        :attr wrong_diff: its handler reports a difference each time
    """
    string name
    string desired_value
    string agent = "internal"
    bool skip = false
    bool fail = false
    bool fail_deploy = false
    bool wrong_diff = false
end
entity ResourceA extends Resource:
end
entity IgnoreResource extends std::PurgeableResource:
    """
        A resource that no export has: one of its fields raises IgnoreResourceException.
    """
    string name
    string desired_value
    string agent = "internal"
end
entity IgnoreResourceInIdAttr extends std::PurgeableResource:
    """
        A resource that no export has: the attribute of its id raises IgnoreResourceException.
    """
    string name
    string desired_value
    string agent = "internal"
end
index Resource(name)
index IgnoreResource(name)
index IgnoreResourceInIdAttr(name)
implement Resource using std::none
implement ResourceA using std::none
implement IgnoreResource using std::none
implement IgnoreResourceInIdAttr using std::none
'''

CODE = '''
from inmanta.agent.handler import CRUDHandler, InvalidOperation, ResourcePurged, SkipResource, provider
from inmanta.resources import IgnoreResourceException, PurgeableResource, resource

from southbound_host.unittest_module import states

@resource("unittest::Resource", agent="agent", id_attribute="name")
class Resource(PurgeableResource):
    fields = ("name", "desired_value", "skip", "fail", "fail_deploy", "wrong_diff")

@provider("unittest::Resource", name="test")
class ResourceHandler(CRUDHandler):
    def read_resource(self, ctx, resource):
        state = states.get(resource.name)
        if resource.skip or state and state.get("skip"):
            raise SkipResource()
        if resource.fail or state and state.get("fail") or resource.fail_deploy and not ctx.is_dry_run():
            raise InvalidOperation()
        if state is None:
            raise ResourcePurged()
        resource.desired_value = state["desired_value"]

    def create_resource(self, ctx, resource):
        states[resource.name] = {"desired_value": resource.desired_value}
        ctx.set_created()

    def update_resource(self, ctx, changes, resource):
        states[resource.name]["desired_value"] = resource.desired_value
        ctx.set_updated()

    def delete_resource(self, ctx, resource):
        del states[resource.name]
        ctx.set_purged()

    def calculate_diff(self, ctx, current, desired):
        if current.wrong_diff:
            return {"desired_value": {"current": "x", "desired": "y"}}
        return super().calculate_diff(ctx, current, desired)

class Ignored(PurgeableResource):
    fields = ("name", "desired_value")

@resource("unittest::IgnoreResource", agent="agent", id_attribute="name")
class IgnoreResource(Ignored):
    @staticmethod
    def get_desired_value(exporter, instance):
        raise IgnoreResourceException()

@resource("unittest::IgnoreResourceInIdAttr", agent="agent", id_attribute="name")
class IgnoreResourceInIdAttr(Ignored):
    @staticmethod
    def get_name(exporter, instance):
        raise IgnoreResourceException()

@provider("unittest::IgnoreResource", name="ignore")
@provider("unittest::IgnoreResourceInIdAttr", name="ignore")
class IgnoredHandler(CRUDHandler):
    pass
'''
