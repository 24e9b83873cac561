"""A KDC of its own realm, as a process of an ordinary user, and the Python client that logs in by Kerberos."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cluster.server_process import ServerProcess
from offset_sync_demo.kafka.broker_files import free_ports

REPO = Path(__file__).resolve().parents[3]
REALM = "OFFSET-SYNC.TEST"
PRINCIPAL = f"offset-sync@{REALM}"
HOST = "127.0.0.1"
_COMMANDS = ("krb5kdc", "kdb5_util", "kadmin.local")
_PACKAGES = "krb5-kdc krb5-admin-server libsasl2-modules-gssapi-mit"
_MODULE = "**/sasl2/libgssapiv2.so*"
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
_CLIENTS = f"""\
[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 {REALM} = {{
  kdc = {HOST}:@port@
 }}
"""
_SERVER = f"""\
[kdcdefaults]
 kdc_listen = {HOST}:@port@
 kdc_tcp_listen = {HOST}:@port@
[realms]
 {REALM} = {{
  database_name = @folder@/principal
  key_stash_file = @folder@/stash
  max_life = 1h
 }}
"""


class KdcProcess(ServerProcess):
    """``krb5kdc`` in the foreground."""

    def command(self) -> list[str]:
        """Return the command."""
        return [_found("krb5kdc"), "-n"]


@dataclass
class Kdc:
    """Its database, and the files for clients."""

    folder: Path
    port: int
    server: KdcProcess

    @property
    def environ(self) -> dict[str, str]:
        """Return what clients of both kinds need to know: the C library, and every JVM."""
        conf = self.folder / "krb5.conf"
        return {"KRB5_CONFIG": str(conf), "JDK_JAVA_OPTIONS": f"-Djava.security.krb5.conf={conf}"}

    def keytab(self, principal: str, *more: str) -> str:
        """Add principals, and return the path of a keytab with their keys."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        for each in (principal, *more):
            self._run("kadmin.local", "-q", f"addprinc -randkey {each}")
            self._run("kadmin.local", "-q", f"ktadd -k {path} {each}")
        assert path.is_file(), f"no key of {principal}"
        return str(path)

    def delete(self, principal: str) -> None:
        """Remove a principal; tickets that were given out stay valid."""
        self._run("kadmin.local", "-q", f"delprinc -force {principal}")

    def start(self) -> None:
        """Make the database, and return when requests are answered."""
        self._run("kdb5_util", "create", "-s", "-P", "of-a-test", "-r", REALM)
        self.server.launch()
        self.server.wait_until(self._listens)

    def _listens(self) -> bool:
        with socket.socket() as asked:
            return asked.connect_ex((HOST, self.port)) == 0

    def _run(self, name: str, *words: str) -> None:
        environ = {**os.environ, **self.server.environ}
        subprocess.run([_found(name), *words], env=environ, check=True, capture_output=True, timeout=120)


@contextmanager
def running_kdc(folder: Path) -> Iterator[Kdc]:
    """Start a KDC; it is killed at the end."""
    (port,) = free_ports(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("krb5.conf", _CLIENTS), ("kdc.conf", _SERVER)):
        for key, value in (("port", port), ("folder", folder)):
            text = text.replace(f"@{key}@", str(value))
        (folder / name).write_text(text, encoding="utf-8")
    environ = {"KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")}
    kdc = Kdc(folder, port, KdcProcess("kdc", folder, "", (), environ=environ))
    try:
        kdc.start()
        yield kdc
    finally:
        kdc.server.kill()


def client_folder(folder: Path) -> Path:
    """Unpack the client below *folder*, and return the path for PYTHONPATH."""
    (wheel,) = (REPO / "dist" / "kerberos").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder)
    return folder


def missing_for_kerberos() -> str:
    """Return what is missing on this machine with the remedy, empty where all is there."""
    if missing := [name for name in _COMMANDS if shutil.which(name, path=_PATH) is None]:
        return f"{missing[0]} is not there; on Debian: apt-get install {_PACKAGES}"
    if not any(each for folder in ("/usr/lib", "/usr/lib64") for each in Path(folder).glob(_MODULE)):
        return f"Cyrus SASL has no module for GSSAPI; on Debian: apt-get install {_PACKAGES}"
    if not any((REPO / "dist" / "kerberos").glob("*.whl")):
        return "dist/kerberos has no client; scripts/kerberos_client.py builds it"
    return ""


def _found(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None, f"{name} is not there"
    return found
