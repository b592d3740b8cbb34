"""A broker that asks who is there: by password over TLS, or by certificate.

Law: who does not know the password, or has no certificate of the broker's authority, gets no answer.
"""

from pathlib import Path

from tests.broker.certificates import make_authority, make_certificate
from tests.broker.server import Broker

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN")

_SECURITY = "org.apache.kafka.common.security"


class SecureBroker(Broker):
    """A broker with a listener of each kind: `address` is plain, for the test's own reading and writing.

    Parameters
    ----------
    jars
        The folder of Kafka's jars.
    folder
        Where its settings, its certificates, its data and its log are kept; made where it is not there.
    """

    user = "alice"
    password = "wonder-land"  # noqa: S105  of a broker that lives for one test run

    def __init__(self, jars: Path, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = make_authority(folder, "authority")
        self.certificate = make_certificate(self.authority, "client")
        self.key = self.certificate.with_suffix(".key")
        super().__init__(
            jars,
            folder,
            {**self._encryption(), **self._login()},
            listeners=("PLAINTEXT", "PASSWORD", "MUTUAL"),
            format_options=self._users(),
        )
        self.password_address = self.address_of("PASSWORD")
        self.mutual_address = self.address_of("MUTUAL")

    def _encryption(self) -> dict[str, str]:
        """Return the settings of TLS; Kafka reads a key and its certificate from one file."""
        server = make_certificate(self.authority, "server")
        both = server.with_suffix(".pem")
        both.write_text(server.with_suffix(".key").read_text() + server.read_text())
        return {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PASSWORD:SASL_SSL,MUTUAL:SSL",
            "listener.name.mutual.ssl.client.auth": "required",
            "ssl.keystore.location": str(both),
            "ssl.keystore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "ssl.truststore.type": "PEM",
        }

    def _login(self) -> dict[str, str]:
        scram = f"{_SECURITY}.scram.ScramLoginModule required;"
        plain = f'{_SECURITY}.plain.PlainLoginModule required user_{self.user}="{self.password}";'
        modules = {"scram-sha-256": scram, "scram-sha-512": scram, "plain": plain}
        return {
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            **{f"listener.name.password.{name}.sasl.jaas.config": module for name, module in modules.items()},
        }

    def _users(self) -> list[str]:
        secret = f"[name={self.user},password={self.password}]"
        return [part for name in MECHANISMS if "SCRAM" in name for part in ("--add-scram", f"{name}={secret}")]
