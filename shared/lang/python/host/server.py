"""The client of a server for plugins: there is no server."""
from inmanta.protocol import Result

class Client:
    """Stands where plugins have the client of a server: each call says that there is none."""

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            return no_server(name)
        return call

class SyncClient:
    """The same for calls that do not await the result."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: no_server(name)

def no_server(name):
    return Result(code=501, result={"message": f"{name} is not there: plugins reach no server here"})

client, sync_client = Client(), SyncClient()
