"""A page from elsewhere in a real browser cannot make a server without access control do anything."""

import html
import json
import os
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from server_rig import Site, running, settings_for

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=LocalNetworkAccessChecks",  # it is our server that has to refuse
    "--host-resolver-rules=MAP *.example 127.0.0.1",
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DOCUMENT = "tasks: {a: {run: touch owned}}"
SEND = """async (url, mode, type, content) => {
    const body = new Blob([content], {type});
    try { return (await fetch(url, {method: 'POST', mode, body})).status } catch (error) { return -1 }
}"""


class Elsewhere(BaseHTTPRequestHandler):
    """Somebody's web pages, by name; the address of the server under attack is the query."""

    def do_GET(self) -> None:
        path, _, url = self.path.partition("?")
        sends = f"({SEND})({url!r}, 'no-cors', 'text/plain', {DOCUMENT!r})"
        told = html.escape(f"<script>{sends}.then(() => parent.postMessage('sent', '*'))</script>")
        pages = {
            "/fetch": f"<script>{sends}.then(() => document.title = 'sent')</script>",
            "/frame": "<script>onmessage = () => document.title = 'sent'</script>"
            f'<iframe sandbox="allow-scripts" srcdoc="{told}"></iframe>',
            "/blank": "<iframe></iframe>"
            f"<script>{sends.replace('fetch(', 'frames[0].fetch(')}.then(() => document.title = 'sent')</script>",
            "/form": f"<form method=post enctype=text/plain action='{url}'><input name='{DOCUMENT} # ' value=x></form>"
            "<script>document.forms[0].submit()</script>",
        }
        content = f"<!doctype html><title>x</title>{pages.get(path, '')}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quietly."""


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no browser is installed: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS, env=dict(os.environ))
        try:
            yield launched
        finally:
            launched.close()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running(settings_for(tmp_path_factory.mktemp("open"), auth=False)) as made:
        yield made


def submitted(page: "Page") -> int:
    """The status a page of the server's own gets for work it hands in."""
    words = ("/api/v1/runs", "cors", "application/json", json.dumps({"workflow": DOCUMENT}))
    status: int = page.evaluate(f"({SEND})({', '.join(map(repr, words))})")
    return status


@pytest.mark.parametrize("host", ["evil.example", "localhost", "127.0.0.1"])
@pytest.mark.parametrize("attack", ["fetch", "frame", "blank", "form"])
def test_a_page_from_elsewhere_starts_nothing(
    attack: str, host: str, browser: "Browser", elsewhere: int, server: Site
) -> None:
    page = browser.new_page()
    target = f"{server.url}/api/v1/runs"
    client = server.client()
    before = len(client.get("/audit", params={"limit": 1000}).json()["items"])
    page.goto(f"http://{host}:{elsewhere}/{attack}?{target}", wait_until="commit")
    if attack == "form":
        page.wait_for_url(target)
    else:
        page.wait_for_function("document.title == 'sent'")
    page.close()
    runs = client.get("/runs").json()["items"]
    for run in runs:
        client.post(f"/runs/{run['id']}/cancel", json={})
    entries = client.get("/audit", params={"limit": 1000}).json()["items"]
    sent = [entry["outcome"] for entry in entries[: len(entries) - before] if entry["action"] == "POST runs"]
    assert sent == [403], "the page did send something, and it was refused"
    assert runs == []


def test_a_name_that_was_made_to_point_here_is_of_no_use(browser: "Browser", server: Site) -> None:
    page = browser.new_page()
    port = server.url.rpartition(":")[2]
    page.goto(f"http://rebound.example:{port}/healthz")
    assert submitted(page) == 403
    assert page.evaluate("fetch('/api/v1/runs').then(answer => answer.status)") == 403
    page.close()
    assert server.client().get("/runs").json()["items"] == []


def test_a_page_of_our_own_may_do_everything(browser: "Browser", server: Site) -> None:
    page = browser.new_page()
    page.goto(f"{server.url}/healthz")
    assert page.evaluate("fetch('/api/v1/runs').then(answer => answer.status)") == 200
    assert submitted(page) == 201
    page.close()
