"""A server with Amazon's protocol on this machine: S3Proxy, which keeps its objects on a disk.

S3Proxy looks whether an object is there and then writes it, so of two conditional puts at the same moment both may
succeed (tried: five of eight). Amazon promises that one does. The gate before it holds to that promise: it lets one
conditional put through at a time. It hides the folders that S3Proxy keeps its objects in, which S3 has not got. An
empty folder is marked by an object there, with the folder's name: as on S3 it is in the list of what begins with that
name, and has a size. And it sees what is asked: how each entry of a Delta log came about.
"""

from __future__ import annotations

import http.client
import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from cluster.server_process import ServerProcess, answer_of
from offset_sync_demo.kafka.broker_files import free_ports

REPO = Path(__file__).resolve().parents[3]
JARS = REPO / "jars" / "cluster"
KEY, SECRET, BUCKET = "offset-sync", "not-a-secret", "lake"
_LOGBACK = """<configuration><appender name="console" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d %p %logger{1}: %m%n</pattern></encoder></appender>
<root level="info"><appender-ref ref="console"/></root></configuration>
"""
_MARKER = "user.user.content-md5"
"""An attribute that a folder of S3Proxy's has if an object of its name was put."""
_NOTHING_LISTED, _MARKER_LISTED = b"<KeyCount>0</KeyCount>", b"<KeyCount>1</KeyCount>"
_OF_A_MARKER = b"<LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>0</Size>"
_WITHOUT_SIZE = re.compile(rb"(<Contents><Key>[^<]*/</Key>)(?!<LastModified>)")
_ONE_HOP = {"connection", "transfer-encoding", "keep-alive"}


@dataclass(frozen=True)
class Put:
    """A put of an entry of a Delta log: its key, whether it was one that replaces nothing, and the answer's code."""

    key: str
    is_conditional: bool
    status: int


@dataclass
class S3Server:
    """The server behind its gate."""

    objects: Path
    port: int
    gate: _Gate

    @property
    def entries(self) -> list[Put]:
        """Return how entries of Delta logs were put until now, in this order."""
        return list(self.gate.entries)

    def let_requests_take(self, seconds: float) -> None:
        """Hold each request back for so long."""
        self.gate.request_s = seconds

    def let_puts_take(self, seconds: float) -> None:
        """Hold each entry of a Delta log back for so long before it is put."""
        self.gate.delay_s = seconds

    @property
    def endpoint(self) -> str:
        """Return the address for clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def storage(self) -> dict[str, str]:
        """Return what ``tables.storage`` says of it."""
        return {
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_allow_http": "true",
        }

    def spark_options(self) -> list[str]:
        """Return what spark-submit.sh is given: the jars, and where the server is. Nothing of how logs are written."""
        jars = ",".join(str(jar) for jar in sorted((JARS / "s3a").glob("*.jar")))
        settings = {
            "endpoint": self.endpoint,
            "endpoint.region": "us-east-1",
            "access.key": KEY,
            "secret.key": SECRET,
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
        }
        words = [word for key, value in settings.items() for word in ("--conf", f"spark.hadoop.fs.s3a.{key}={value}")]
        return ["--jars", jars, *words]


@contextmanager
def running_s3(folder: Path) -> Iterator[S3Server]:
    """Start the server below *folder*, with one bucket; it ends with the context."""
    port, gate_port = free_ports(2)
    (folder / "objects" / BUCKET).mkdir(parents=True)
    (folder / "logback.xml").write_text(_LOGBACK)
    settings = {
        "s3proxy.endpoint": f"http://127.0.0.1:{port}",
        "s3proxy.authorization": "aws-v2-or-v4",
        "s3proxy.identity": KEY,
        "s3proxy.credential": SECRET,
        # Its delete of many objects has a header of Amazon's that this server does not know.
        "s3proxy.ignore-unknown-headers": "true",
        "jclouds.provider": "filesystem-nio2",
        "jclouds.filesystem.basedir": folder / "objects",
    }
    (folder / "s3proxy.conf").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    logging = f"-Dlogback.configurationFile={folder / 'logback.xml'}"
    words = [logging, "org.gaul.s3proxy.Main", "--properties", str(folder / "s3proxy.conf")]
    server = ServerProcess("s3proxy", folder, str(JARS / "s3proxy" / "*"), words, heap="256m")
    server.launch()
    gate = _Gate(("127.0.0.1", gate_port), port, folder / "objects")
    threading.Thread(target=gate.serve_forever, name="s3 gate", daemon=True).start()
    try:
        # Unknown clients are refused, so an error is an answer.
        server.wait_until(lambda: answer_of(f"http://127.0.0.1:{port}/", refused=b"refused") is not None)
        yield S3Server(folder / "objects", gate_port, gate)
    finally:
        gate.shutdown()
        gate.server_close()
        server.kill()


class _Gate(ThreadingHTTPServer):
    request_queue_size = 128  # a client opens many connections at once; by default some wait for a retransmission

    def __init__(self, address: tuple[str, int], behind: int, objects: Path) -> None:
        super().__init__(address, _PassOn)
        self.objects = objects
        self.behind = behind
        self.entries: list[Put] = []
        self.delay_s = self.request_s = 0.0
        self.one_at_a_time = threading.Lock()


class _PassOn(BaseHTTPRequestHandler):
    """Passes a request on as it came, for the signature holds its headers, and the answer back."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer goes out in two writes
    server: _Gate

    def _pass(self) -> None:
        body = self._body()
        time.sleep(self.server.request_s)
        key = self.path.partition("?")[0]
        is_entry = self.command == "PUT" and "/_delta_log/" in key and key.endswith(".json")
        if is_entry:
            time.sleep(self.server.delay_s)
        if self.command == "HEAD" and (self.server.objects / unquote(key).strip("/")).is_dir() and key.count("/") > 1:
            return self._say_it_is_not_there()
        is_conditional = self.command == "PUT" and self.headers.get("If-None-Match") == "*"
        if is_conditional:
            with self.server.one_at_a_time:
                status = self._forward(body)
        else:
            status = self._forward(body)
        if is_entry:
            self.server.entries.append(Put(key, is_conditional, status))

    def _say_it_is_not_there(self) -> None:
        self.send_response_only(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass

    def _body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            del self.headers["Expect"]
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _forward(self, body: bytes) -> int:
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=120)
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _ONE_HOP:
                behind.putheader(name, value)
        behind.endheaders(body or None)
        answer = behind.getresponse()
        content = self._with_marker(answer.read())
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _ONE_HOP | {"content-length"}:
                self.send_header(name, value)
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        if answer.status not in (204, 304):
            self.send_header("Content-Length", length or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        behind.close()
        return answer.status

    def _with_marker(self, content: bytes) -> bytes:
        """Return a list of objects with all their sizes, and with the one that has the name of the prefix."""
        asked = urlsplit(self.path)
        prefix = parse_qs(asked.query).get("prefix", [""])[0]
        folder = self.server.objects / unquote(asked.path).strip("/") / prefix
        is_empty = _NOTHING_LISTED in content and prefix.endswith("/") and folder.is_dir()
        if is_empty and _MARKER in os.listxattr(folder):
            listed = f"<Contents><Key>{escape(prefix)}</Key></Contents>".encode()
            content = content.replace(_NOTHING_LISTED, _MARKER_LISTED + listed)
        return _WITHOUT_SIZE.sub(rb"\g<1>" + _OF_A_MARKER, content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
