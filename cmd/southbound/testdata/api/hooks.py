"""What JSON Schema cannot say of requests, for Schemathesis."""

import schemathesis
from hypothesis import strategies as st

# Whole seconds, or cron.
schemathesis.openapi.format(
    "timer", st.sampled_from(["", "0", "600", "30 2 * * *", "*/5 8-18 * * MON-FRI"])
)


@schemathesis.hook
def map_body(context, body):
    """The first pause before a retry is not longer than the longest, and something matches a target.

    With defer it need not: what left the model before has nothing that matches any more.
    """
    if isinstance(body, dict) and body.get("target"):
        body["defer"] = True
    settings = body.get("settings") if isinstance(body, dict) else None
    if isinstance(settings, dict):
        base, most = settings.get("retry_base_ms"), settings.get("retry_max_ms")
        if isinstance(base, (int, float)) and isinstance(most, (int, float)) and base > most > 0:
            settings["retry_base_ms"], settings["retry_max_ms"] = most, base
    return body
