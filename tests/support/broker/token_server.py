"""An OIDC provider of a test: tokens of client credentials, signed by RS256 with openssl, and the key to check them."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

CLIENT, SECRET, SCOPE, AUDIENCE = "offset-sync", 'c4n4ry-secret"with\\signs', "kafka", "brokers"
TOKEN_S = 300


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class TokenServer:
    """Serves ``/token`` and ``/jwks`` at *url*; *asked* has the form of each request for a token."""

    folder: Path
    url: str = ""
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = self.folder / "token.key"
        self._run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", str(self._key))
        modulus = self._run("rsa", "-in", str(self._key), "-noout", "-modulus").decode().strip().partition("=")[2]
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "test", "n": _encoded(bytes.fromhex(modulus))}
        self.jwks = json.dumps({"keys": [key | {"e": _encoded((65537).to_bytes(3, "big"))}]}).encode()

    @staticmethod
    def _run(*words: str, data: bytes = b"") -> bytes:
        return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True, timeout=60).stdout

    def token(self) -> str:
        """Return a token for the client."""
        now = int(time.time())
        claims = {"sub": CLIENT, "aud": AUDIENCE, "iss": self.url, "iat": now, "exp": now + TOKEN_S, "scope": SCOPE}
        head = {"alg": "RS256", "typ": "JWT", "kid": "test"}
        text = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(claims).encode())}"
        return f"{text}.{_encoded(self._run('dgst', '-sha256', '-sign', str(self._key), data=text.encode()))}"


@contextmanager
def token_server(folder: Path) -> Iterator[TokenServer]:
    """Run one for as long as the block lasts."""
    folder.mkdir(parents=True, exist_ok=True)
    server = TokenServer(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(200, server.jwks)

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            server.asked.append(form)
            given = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            if given != f"{CLIENT}:{SECRET}" or form.get("scope") != [SCOPE]:
                self._answer(401, b'{"error": "invalid_client"}')
                return
            found: dict[str, Any] = {"access_token": server.token(), "token_type": "Bearer", "expires_in": TOKEN_S}
            self._answer(200, json.dumps(found).encode())

        def _answer(self, code: int, body: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.url = f"http://127.0.0.1:{listening.server_port}"
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield server
        listening.shutdown()
