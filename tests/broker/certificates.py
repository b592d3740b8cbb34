"""Certificates for one test run: an authority, and what it signs for a server and for a client.

Law: a private key never leaves the folder that it is made in, and no certificate outlives a day.
"""

import subprocess
from pathlib import Path


def make_authority(folder: Path, name: str) -> Path:
    """Make an authority in a folder, and return the file of its certificate; its key is beside it, as `.key`."""
    authority = folder / f"{name}.crt"
    _make(authority, name, ["-addext", "basicConstraints=critical,CA:TRUE"])
    return authority


def make_certificate(authority: Path, name: str) -> Path:
    """Make a certificate for 127.0.0.1 and localhost beside its authority's; its key is beside it, as `.key`.

    Parameters
    ----------
    authority
        The file of the certificate that signs it.
    name
        Its common name, and the name of its files.
    """
    certificate = authority.with_name(f"{name}.crt")
    signed = ["-CA", str(authority), "-CAkey", str(authority.with_suffix(".key"))]
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-addext", "basicConstraints=CA:FALSE"]
    _make(certificate, name, [*signed, *names])
    return certificate


def _make(certificate: Path, name: str, options: list[str]) -> None:
    files = ["-keyout", str(certificate.with_suffix(".key")), "-out", str(certificate)]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command = ["openssl", "req", "-x509", "-days", "1", "-subj", f"/CN={name}", *key, *files, *options]
    subprocess.run(command, check=True)
