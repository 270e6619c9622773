"""Tests of modules with pytest: the fixture `project`, which compiles models and runs handlers here."""
import contextlib, importlib, inspect, json, logging, os, re, sys, textwrap, types

import pytest

from inmanta import const, loader
from inmanta.agent.handler import HandlerContext
from inmanta.execute.proxy import DynamicProxy
from inmanta.plugins import PluginMeta
from inmanta.protocol import Result as Answer, endpoints, json_encode
from inmanta.resources import Resource

from southbound_host import export, handlers, main, model, plugins, raised, unittest_module, wire

_out = sys.stdout  # before pytest has put its own there
_told = {}  # of the run: module, where it is, modulepath, folder of the project

class Client(handlers.Client):
    """Stands where handlers have the client of the server."""

    def __init__(self, ctx, files):
        super().__init__(ctx, {"reload": False, "new": False, "files": {}})
        self.blobs, self.discovered_resources = files, []

    async def get_file(self, id):
        import base64
        if id not in self.blobs:
            return Answer(code=404, result={"message": f"there is no file {id}"})
        return Answer(code=200, result={"content": base64.b64encode(self.blobs[id]).decode()})

    async def stat_file(self, id):
        return Answer(code=200 if id in self.blobs else 404, result={})

    async def discovered_resource_create_batch(self, tid, discovered_resources):
        self.discovered_resources.extend(discovered_resources)
        return Answer(code=200, result={})

def _matching(resources, kind, wanted, exact=False):
    """Yields the resources whose instances have exactly the type kind. If exact is set, the class of the resource must
    be registered for kind."""
    missing = object()
    for r in resources:
        of = getattr(r, "model", None)
        name = r.id.entity_type if exact or of is None else of._get_instance().of
        if name == kind and all(getattr(r, n, missing) == value for n, value in wanted.items()):
            yield r

class Run:
    """What came of a run of a handler."""

    def __init__(self, resource, ctx, handler):
        self.resource, self.ctx, self.handler = resource, ctx, handler

    status = property(lambda self: self.ctx.status)
    changes = property(lambda self: self.ctx.changes)
    change = property(lambda self: self.ctx.change)
    logs = property(lambda self: self.ctx.logs)

    def _shown(self):
        lines = [f"  changes: {self.ctx.changes}"]
        for line in self.ctx.logs:
            lines.append(f"  {line._data['level']} {line._data['msg']}")
            if trace := line._data["kwargs"].get("traceback"):
                lines.append(textwrap.indent(str(trace), "    "))
        return "\n".join(lines)

    def assert_status(self, status=const.ResourceState.deployed, change=None):
        assert self.ctx.status == status, f"{self.resource.id} is {self.ctx.status}, expected {status}\n{self._shown()}"
        assert change is None or self.ctx.change == change, \
            f"the change of {self.resource.id} is {self.ctx.change}, expected {change}\n{self._shown()}"

    def assert_no_changes(self):
        assert not self.ctx.changes, f"{self.resource.id} has something to do\n{self._shown()}"

    def assert_has_logline(self, text):
        for line in self.ctx.logs:
            if text in line._data["msg"]:
                return line
        raise AssertionError(f"no line of {self.resource.id} has {text!r}\n{self._shown()}")

    def assert_consistent_status(self):
        json.dumps(json.loads(json_encode([line._data for line in self.ctx.logs])))
        assert self.ctx.status is not None, f"{self.resource.id} has no status"

    def discovered_resources(self):
        return self.handler._client.discovered_resources

class Results:
    """What came of runs of several resources."""

    def __init__(self, results):
        self.results = results

    def assert_all(self, status=const.ResourceState.deployed):
        for r, ctx in self.results.items():
            Run(r, ctx, None).assert_status(status)

    def assert_has_no_changes(self):
        for r, ctx in self.results.items():
            Run(r, ctx, None).assert_no_changes()

    def assert_resources_have_purged(self):
        for r, ctx in self.results.items():
            assert "purged" in ctx.changes, f"{r.id} is neither created nor deleted: {ctx.changes}"

    def get_resource(self, resource_type, should_filter_model_type=False, **filter_args):
        return next(_matching(self.results, resource_type, filter_args, should_filter_model_type), None)

    def get_contexts_for(self, resource_type, **filter_args):
        return {self.results[r] for r in _matching(self.results, resource_type, filter_args)}

    def get_context_for(self, resource_type, **filter_args):
        found = list(_matching(self.results, resource_type, filter_args))
        if len(found) > 1:
            raise LookupError(f"{len(found)} resources match; get_contexts_for returns them all")
        return self.results[found[0]] if found else None

class Cycle:
    """A dry run, a deployment, and a dry run after it."""

    def __init__(self, first_dryrun, deploy, last_dryrun):
        self.first_dryrun, self.deploy, self.last_dryrun = first_dryrun, deploy, last_dryrun

class Root:
    """The namespaces of the last model. Its file main.cf is __config__, whose variables have values."""

    def __getattr__(self, name):
        return getattr(model.root, name)

    def get_child(self, name):
        return model.Resolver(model.root) if name == "__config__" else model.root.get_child(name)

class Project:
    """A project with the module that is tested: a model, what it comes to, and its deployment."""

    def __init__(self):
        self.version, self.ctx, self.resources, self.types = None, None, {}, None
        self._stdout, self._stderr, self._blobs, self._agents, self._made = None, None, {}, {}, []
        self._test_project_dir = _told["project"]
        self._exporter, self._root_scope, self.agent_map = None, None, {}
        model.facts.known = {}
        unittest_module.reset()
        self._reset_folder()

    def __repr__(self):
        return f"<project with {_told['module']}>"

    def _reset_folder(self):
        """Creates the module unittest, and removes files that earlier tests have added to it."""
        import shutil
        shutil.rmtree(os.path.join(self._test_project_dir, "libs", "unittest"), ignore_errors=True)
        self.create_module("unittest", unittest_module.MODEL, unittest_module.CODE)

    def compile(self, main, export=False, no_dedent=True):
        text = main if no_dedent else textwrap.dedent(main.strip("\n"))
        with open(os.path.join(self._test_project_dir, "main.cf"), "w") as f:
            f.write(text)
        _reset()
        plugins.failure = None
        with contextlib.redirect_stdout(_out):
            answer = _ask(["compile"])
        if answer[0] == "problems":
            self._stdout = answer[1]
            raise raised.error([{"text": t, "file": f, "line": n, "code": c} for t, f, n, c in answer[2]], plugins.failure)
        self._stdout, self._stderr = answer[1:3]
        model.whole = True  # also if the model has no resource classes
        exporter = sys.modules[export_name].last
        self.types, self.version = model.types, 0
        self._root_scope = Root()
        self.resources = dict(exporter._resources) if exporter else {}
        self._exporter = exporter
        self._blobs.update(exporter._file_store if exporter else {})

    def get_stdout(self):
        return self._stdout

    def get_stderr(self):
        return self._stderr

    def get_root_scope(self):
        return self._root_scope

    def get_instances(self, fortype="std::Entity"):
        if self.types is None:
            raise Exception("no model was compiled yet")
        if model.entity(fortype) is None:
            raise Exception(f"the model has no entity {fortype}")
        return [DynamicProxy.return_value(i) for i in model.entity(fortype).get_all_instances()]

    def get_resource(self, resource_type, should_filter_model_type=False, **filter_args):
        found = next(_matching(self.resources.values(), resource_type, filter_args, should_filter_model_type), None)
        return self.check_serialization(found) if found else None

    def get_one_resource(self, resource_type, should_filter_model_type=False, **filter_args):
        found = list(_matching(self.resources.values(), resource_type, filter_args, should_filter_model_type))
        assert len(found) == 1, f"{len(found)} resources match {resource_type} with {filter_args}"
        return self.check_serialization(found[0])

    def check_serialization(self, resource):
        return Resource.deserialize(json.loads(json_encode(resource.serialize())))

    def _copies(self):
        """Yields a copy of each resource, with its instance."""
        for r in self.resources.values():
            copy = self.check_serialization(r)
            copy.model = r.model
            yield copy

    def get_handler(self, resource, run_as_root=False):
        if run_as_root and os.geteuid() != 0:
            raise Exception("run_as_root: these tests do not run as root")
        agent = self._agents.get(resource.id.agent_name)
        if agent is None:
            handlers.start()
            agent = self._agents[resource.id.agent_name] = handlers.Agent(resource.id.agent_name)
        handler = handlers.library.Commander.get_provider(agent, resource)
        handler.set_cache(agent.cache)
        handler._client = Client(None, self._blobs)
        return handler

    def _run(self, resource, dry, as_root=False):
        assert resource is not None, "there is no resource to deploy"
        handler = self.get_handler(resource, as_root)
        ctx = HandlerContext(resource, dry_run=dry)
        try:
            with handler.cache:
                if self._resolve(ctx, resource):
                    handler.execute(ctx, resource, dry)
        finally:
            handler.close()
        json_encode([line._data for line in ctx.logs])  # it could not be sent otherwise
        self.ctx = ctx
        return Run(resource, ctx, handler)

    def _resolve(self, ctx, resource):
        """Resolves the references of a resource. If that fails, so does the run, and it returns False."""
        if not hasattr(resource, "resolve_all_references"):
            return True
        try:
            resource.resolve_all_references(ctx)
        except Exception as e:
            ctx.set_status(const.ResourceState.failed)
            ctx.exception("Failed to resolve the references of %(resource_id)s: %(exception)s",
                          resource_id=str(resource.id), exception=repr(e))
            return False
        return True

    def _one(self, resource_type, filter_args):
        res = self.get_resource(resource_type, **filter_args)
        there = ", ".join(sorted(str(r.id) for r in self.resources.values())) or "none"
        assert res is not None, f"the model has no {resource_type} with {filter_args}; there are: {there}"
        return res

    def deploy(self, resource, dry_run=False, run_as_root=False):
        return self._run(resource, dry_run, run_as_root).ctx

    def dryrun(self, resource, run_as_root=False):
        return self._run(resource, True, run_as_root).ctx

    def deploy_resource_v2(self, resource_type, run_as_root=False, dry_run=False, expected_status=..., *,
                           status=..., change=None, **filter_args):
        wanted = expected_status if expected_status is not ... else status
        if wanted is ...:
            wanted = const.ResourceState.dry if dry_run else const.ResourceState.deployed
        out = self._run(self._one(resource_type, filter_args), dry_run, run_as_root)
        if wanted is not None:
            out.assert_status(wanted, change)
        return out

    def dryrun_resource_v2(self, resource_type, run_as_root=False, expected_status=const.ResourceState.dry, **filter_args):
        return self.deploy_resource_v2(resource_type, run_as_root, True, expected_status, **filter_args)

    def deploy_resource(self, resource_type, status=const.ResourceState.deployed, run_as_root=False, change=None, **filter_args):
        return self.deploy_resource_v2(resource_type, run_as_root, False, status, change=change, **filter_args).resource

    def dryrun_resource(self, resource_type, status=const.ResourceState.dry, run_as_root=False, **filter_args):
        return self.deploy_resource_v2(resource_type, run_as_root, True, status, **filter_args).changes

    def dryrun_all(self, run_as_root=False):
        return Results({r: self._run(r, True, run_as_root).ctx for r in self._copies()})

    def deploy_all(self, run_as_root=False, exclude_all=("std::AgentConfig",)):
        import graphlib
        todo = {r.id.resource_str(): r for r in self._copies() if r.id.entity_type not in exclude_all}
        needs = {i: {q.resource_str() for q in r.requires} & set(todo) for i, r in sorted(todo.items())}
        done = {}
        for i in graphlib.TopologicalSorter(needs).static_order():
            if all(done[q].status == const.ResourceState.deployed for q in needs[i]):
                done[i] = self._run(todo[i], False, run_as_root).ctx
            else:
                done[i] = HandlerContext(todo[i])
                done[i].set_status(const.ResourceState.skipped)
        return Results({todo[i]: ctx for i, ctx in done.items()})

    def dryrun_and_deploy_all(self, run_as_root=False, assert_create_or_delete=False):
        first = self.dryrun_all(run_as_root)
        first.assert_all(const.ResourceState.dry)
        if assert_create_or_delete:
            first.assert_resources_have_purged()
        deployed = self.deploy_all(run_as_root)
        deployed.assert_all()
        last = self.dryrun_all(run_as_root)
        last.assert_all(const.ResourceState.dry)
        last.assert_has_no_changes()
        return Cycle(first, deployed, last)

    def get_last_context(self):
        return self.ctx

    def get_last_logs(self):
        return self.ctx.logs if self.ctx else None

    def add_blob(self, key, content, allow_overwrite=True):
        if key in self._blobs and not allow_overwrite:
            raise Exception(f"there is a file {key} already")
        self._blobs[key] = content.encode() if isinstance(content, str) else content

    def add_fact(self, resource_id, name, value):
        model.facts.known.setdefault(resource_id, {})[name] = value

    def unittest_resource_exists(self, name):
        return name in unittest_module.states

    def unittest_resource_get(self, name):
        return unittest_module.states[name]

    def unittest_resource_set(self, name, **values):
        unittest_module.states[name].update(values)

    def get_blob(self, key):
        return self._blobs[key]

    def stat_blob(self, key):
        return key in self._blobs

    def create_module(self, name, initcf="", initpy=""):
        root = os.path.join(self._test_project_dir, "libs", name)
        texts = {"module.yml": f"name: {name}\nversion: 0.1\nlicense: none\n", "model/_init.cf": initcf,
                 "plugins/__init__.py": initpy}
        for folder in ("files", "templates", "model", "plugins"):
            os.makedirs(os.path.join(root, folder), exist_ok=True)
        for path, text in texts.items():
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
        self._made.append(name)
        _unload(name)

    def add_mock_file(self, subdir, name, content):
        path = os.path.join(self._test_project_dir, "libs", "unittest", subdir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(content)

    def get_plugins(self):
        package = f"{const.PLUGINS_PACKAGE}.{_told['module']}"
        try:
            importlib.import_module(package)
        except ModuleNotFoundError as e:
            if e.name != package:
                raise
            return {}
        out = {}
        for name, module in sorted(sys.modules.items()):
            if name == package or name.startswith(package + "."):
                out.update((k, v) for k, v in vars(module).items() if isinstance(v, types.FunctionType))
        return out

    def get_plugin_function(self, function_name):
        found = self.get_plugins()
        if function_name not in found:
            raise Exception(f"the module {_told['module']} has no function {function_name}")
        return found[function_name]

    def clean(self):
        import shutil
        for agent in self._agents.values():
            agent.cache.close()
        for name in self._made:
            _unload(name)
            shutil.rmtree(os.path.join(self._test_project_dir, "libs", name), ignore_errors=True)
        os.chdir(_told["path"])
        self.__init__()

export_name = export.__name__

def _ask(message):
    """Asks for a compile, and answers what that asks until it is done."""
    wire.send(message)
    while True:
        answer = wire.receive()
        if answer is None:
            os._exit(1)
        if answer[0] in ("compiled", "problems"):
            return answer
        main._answer(answer)

def _reset():
    """Forgets what the last model was."""
    model.reset()
    plugins.reset()
    export.last = None
    for name, module in list(sys.modules.items()):
        if name.startswith(const.PLUGINS_PACKAGE + ".") and isinstance(module, types.ModuleType):
            for key, f in list(vars(module).items()):
                if key.startswith("inmanta_reset_state") and callable(f):
                    f()

def _unload(name):
    """Has a module that a test has made be imported anew."""
    package = f"{const.PLUGINS_PACKAGE}.{name}"
    for other in [m for m in sys.modules if m == package or m.startswith(package + ".")]:
        del sys.modules[other]
    PluginMeta.clear(name)
    importlib.invalidate_caches()

class Imported:
    """The Python code of modules by name."""

    def __getattr__(self, name):
        try:
            return importlib.import_module(f"{const.PLUGINS_PACKAGE}.{name}")
        except ModuleNotFoundError as e:
            raise AttributeError(f"there is no module {name} with Python code") from e

def _meant(run, item):
    """Whether a test matches the expression of --run: its name, that of its file, or, for one with
    a /, its path."""
    return (re.search(run, item.name) or re.search(run, item.path.name)
            or "/" in run and re.search(run, item.nodeid))

class Kit:
    """What pytest is given: fixtures and options, and what is told of tests."""

    @pytest.fixture
    def project(self):
        project = Project()
        yield project
        project.clean()

    @pytest.fixture
    def project_no_plugins(self, project):
        return project

    @pytest.fixture(scope="session")
    def project_shared(self):
        project = Project()
        yield project
        project.clean()

    @pytest.fixture(scope="session")
    def project_factory(self):
        return lambda **kwargs: Project()

    @pytest.fixture
    def inmanta_plugins(self):
        return Imported()

    @pytest.fixture
    def inmanta_state_dir(self, tmp_path):
        return str(tmp_path)

    def pytest_addoption(self, parser):
        group = parser.getgroup("southbound", "options of earlier kits, which say nothing here")
        for names in (("--venv",), ("--module-repo", "--module_repo"), ("--install-mode", "--install_mode"),
                      ("--pip-index-url",)):
            group.addoption(*names, action="append", default=[], help="has no effect")
        for names in (("--use-module-in-place",), ("--no-load-plugins", "--no_load-plugins"), ("--no-strict-deps-check",)):
            group.addoption(*names, action="store_true", help="has no effect")

    def pytest_collection_modifyitems(self, config, items):
        if _told["run"]:
            out = [i for i in items if not _meant(_told["run"], i)]
            items[:] = [i for i in items if i not in out]
            config.hook.pytest_deselected(items=out)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.when == "setup" and not report.passed or report.when == "teardown" and report.failed:
            path, line, name = report.location
            text = report.longreprtext if report.failed else ""
            if report.skipped and isinstance(report.longrepr, tuple):
                text = str(report.longrepr[2])
            crash = getattr(report.longrepr, "reprcrash", None)
            if crash is not None and os.path.realpath(crash.path).endswith(os.path.basename(path)):
                line = crash.lineno - 1
            why = crash.message if crash is not None else text
            wire.send(["test", report.fspath or path, name, report.outcome, (line or 0) + 1, why, text, report.duration])

    def pytest_collectreport(self, report):
        if report.failed:
            wire.send(["test", report.fspath or report.nodeid, report.nodeid, "failed", 0, report.longreprtext, "", 0])

def run(message):
    """Runs tests, and says when they are done."""
    _, args, told = message
    _told.update(told)
    model.project(_told["project"], {_told["module"]: _told["path"]})
    loader.PluginModuleFinder.configure_module_finder(_told["modulepath"])
    endpoints.SyncClient = handlers.Facts  # for references to facts that no test has set
    if importlib.util.find_spec("pytest_inmanta") is None:
        shim = types.ModuleType("pytest_inmanta")
        shim.plugin = types.ModuleType("pytest_inmanta.plugin")
        vars(shim.plugin).update(Project=Project, Result=Results, DeployResult=Results, DeployResultV2=Run,
                                 DeployResultCollection=Cycle)
        shim.handler = types.ModuleType("pytest_inmanta.handler")
        shim.handler.DATA = unittest_module.states
        sys.modules.update({"pytest_inmanta": shim, "pytest_inmanta.plugin": shim.plugin,
                            "pytest_inmanta.handler": shim.handler})
    logging.getLogger().handlers.clear()  # pytest shows what is logged
    code = pytest.main(args, plugins=[Kit()])
    sys.stdout = _out
    wire.send(["ok", int(code)])
