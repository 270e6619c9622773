"""Asks a server for services with the client library of inmanta-core, and prints what it answers.

usage: client.py HOST PORT TOKEN ENVIRONMENT CUSTOMER
"""

import asyncio
import sys
import uuid
from typing import Any, Optional

from inmanta import config
from inmanta.const import ClientType
from inmanta.protocol import endpoints
from inmanta.protocol.common import ArgOption
from inmanta.protocol.decorators import typedmethod

UUID, Object = uuid.UUID, dict[str, Any]


def method(path: str, operation: str, version: int = 1):
    return typedmethod(
        path=path,
        operation=operation,
        api_version=version,
        api_prefix="lsm",
        client_types=[ClientType.api],
        strict_typing=False,
        arg_options={"tid": ArgOption(header="X-Inmanta-tid", reply_header=True, getter=None)},
    )


INVENTORY = "/service_inventory/<service_entity>"
INSTANCE = INVENTORY + "/<service_id>"


@method(INVENTORY, "POST")
def create(
    tid: str,
    service_entity: str,
    attributes: Object,
    service_instance_id: Optional[UUID] = None,
    initial_state: Optional[str] = None,
) -> Object: ...


@method(INVENTORY, "GET")
def instances(tid: str, service_entity: str, limit: Optional[int] = None) -> list[Object]: ...


@method(INSTANCE, "GET")
def get(tid: str, service_entity: str, service_id: UUID) -> Object: ...


@method(INSTANCE, "PATCH", 2)
def patch(
    tid: str,
    service_entity: str,
    service_id: UUID,
    current_version: int,
    edit: list[Object],
    patch_id: Optional[str] = None,
    comment: Optional[str] = None,
) -> None: ...


@method(INSTANCE, "PUT")
def put(
    tid: str,
    service_entity: str,
    service_id: UUID,
    current_version: int,
    attributes: Object,
    put_id: Optional[str] = None,
    comment: Optional[str] = None,
) -> None: ...


@method(INSTANCE, "DELETE")
def delete(tid: str, service_entity: str, service_id: UUID, current_version: int) -> None: ...


@method(INSTANCE + "/state", "POST")
def set_service_state(
    tid: str, service_entity: str, service_id: UUID, current_version: int, target_state: str, message: str
) -> None: ...


@method(INSTANCE + "/log", "GET")
def log(
    tid: str,
    service_entity: str,
    service_id: UUID,
    limit: Optional[int] = None,
    filter: Optional[dict[str, str]] = None,
) -> list[Object]: ...


@method(INSTANCE + "/diagnose", "GET")
def diagnose(
    tid: str,
    service_entity: str,
    service_id: UUID,
    version: int,
    rejection_lookbehind: int = 1,
    failure_lookbehind: int = 1,
) -> Object: ...


@method(INSTANCE + "/resources", "GET")
def resources(tid: str, service_entity: str, service_id: UUID, current_version: int) -> list[Object]: ...


@method("/callbacks", "POST")
def register(
    tid: str,
    callback_url: str,
    callback_id: Optional[UUID] = None,
    service_entity: Optional[str] = None,
    minimal_log_level: Optional[str] = None,
    event_types: Optional[list[str]] = None,
) -> UUID: ...


async def main(host: str, port: str, token: str, environment: str, customer: str) -> None:
    config.Config.load_config()
    for name, value in {"host": host, "port": port, "token": token}.items():
        config.Config.set("client_rest_transport", name, value)
    client = endpoints.Client("client")
    env = {"tid": environment}
    of = {**env, "service_entity": "customer"}
    one = {**of, "service_id": UUID(customer)}

    async def ask(name: str, show=lambda result: "", **arguments: object) -> Any:
        answer = await getattr(client, name)(**arguments)
        text = show(answer.result) if answer.code == 200 else answer.result["message"].split(":")[0]
        print(name, answer.code, text)
        return answer.result

    await ask("create", lambda r: r["data"]["state"], **of, attributes={"name": "short"})
    await ask("create", lambda r: r["data"]["state"], **of, attributes={"name": "long", "contact": "x" * 3000})
    await ask("create", **of, attributes={"name": 7})
    await ask("get", lambda r: r["data"]["state"], **one)
    history = lambda r: [(e["version"], e["state"], [v["event_type"] for v in e["events"]]) for e in r["data"]]
    await ask("log", history, **one, filter={"version": "ge:1"})
    await ask("diagnose", lambda r: sorted(r["data"]), **one, version=2, rejection_lookbehind=0)
    await ask("resources", lambda r: r["data"], **one, current_version=2)
    await ask("resources", **one, current_version=1)
    edit = {"edit_id": "e", "operation": "replace", "target": "contact", "value": "y"}
    await ask("patch", **one, current_version=2, patch_id="p", edit=[edit], comment="by a client")
    await ask("set_service_state", **one, current_version=1, target_state="x", message="m")
    await ask("put", **one, current_version=1, attributes={"name": "acme"})
    await ask("delete", **one, current_version=1)
    await ask("get", **{**one, "service_id": UUID(int=1)})
    await ask("register", **env, callback_url="http://192.0.2.1/x", event_types=["ALLOCATION_UPDATE"])
    for n in range(4):
        await ask("create", **of, attributes={"name": f"n{n}"})
    names = [i["service_identity_attribute_value"] async for i in client.instances(**of, limit=2).all()]
    print("all", " ".join(names))
    versions = [e["version"] async for e in client.log(**one, limit=1).all()]
    print("all", versions)


asyncio.run(main(*sys.argv[1:]))
