"""Turn a server's error responses into exceptions."""

import httpx

from tradewind.client.errors import ClientError, RefusedError

_REMEDIES = {
    401: "give a token with --profile or TRADEWIND_TOKEN",
    413: "the server does not accept requests of this size",
    429: "slow down: the server limits the rate of requests",
}


def check(answer: httpx.Response) -> httpx.Response:
    """Return a response, or raise an error if the server rejected the request."""
    if answer.is_success:
        return answer
    if answer.is_redirect:
        raise ClientError(f"{answer.request.url} has moved to {answer.headers.get('location', 'elsewhere')}")
    answer.read()
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    title = str(body.get("title") or f"the server answered {answer.status_code}")
    detail = str(body.get("detail") or "")
    if (remedy := _REMEDIES.get(answer.status_code)) is not None:
        detail = f"{detail or title}; {remedy}"
    kind = str(body.get("type") or "").rpartition("/")[2]
    raise RefusedError(answer.status_code, detail or title, kind if kind != "about:blank" else "")
