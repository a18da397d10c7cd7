"""Certificates for the names of real providers, by an authority that lives as long as the process."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import trustme


class Authority:
    """Makes certificates. Only who is given its file trusts it; its key is never written."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="crashwindow")
        self._contexts: dict[str, ssl.SSLContext] = {}

    def write(self, path: Path) -> None:
        """The authority's own certificate as PEM, for nobody else to read."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(self._ca.cert_pem.bytes())

    def context_for(self, host: str) -> ssl.SSLContext:
        """The server's side of TLS as that host, for HTTP/1.1."""
        if host not in self._contexts:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_alpn_protocols(["http/1.1"])
            self._ca.issue_cert(host).configure_cert(context)
            self._contexts[host] = context
        return self._contexts[host]
