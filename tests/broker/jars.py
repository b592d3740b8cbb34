"""Apache Kafka as jars: fetched once by Maven, kept in the user's cache.

Law: a folder of the cache is whole or absent, so that test runs may begin at the same time.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "4.3.1"

_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>streamnb</groupId>
  <artifactId>kafka-for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""


class UnavailableError(Exception):
    """There is no Kafka to test against; the message says what to install."""


def fetch() -> Path:
    """Return the folder that holds the jars of Kafka, fetching them where they are not in the cache.

    Raises
    ------
    UnavailableError
        Without Java 17 or later, or without Maven or what it needs to fetch them.
    """
    _check_java()
    cache = Path(os.environ.get("STREAMNB_CACHE") or Path.home() / ".cache" / "streamnb")
    folder = cache / f"kafka-{VERSION}"
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None:
        raise UnavailableError("Kafka is not on this machine: install Maven (mvn) or Docker, or set STREAMNB_KAFKA")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetching-") as temporary:
        _fetch(Path(temporary))
        with contextlib.suppress(OSError):  # another run was first, and a folder that is not empty is not replaced
            (Path(temporary) / "jars").rename(folder)
    if not folder.is_dir():
        raise UnavailableError(f"the jars of Kafka cannot be kept in {cache}: set STREAMNB_CACHE to another folder")
    return folder


def _check_java() -> None:
    wanted = "install Java 17 or later and Maven, or Docker, or set STREAMNB_KAFKA"
    if shutil.which("java") is None:
        raise UnavailableError(f"Kafka cannot run here: {wanted}")
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', said.stderr)
    if found is None or int(found[1]) < 17:
        raise UnavailableError(f"Kafka cannot run on this java ({said.stderr.partition(chr(10))[0]}): {wanted}")


def _fetch(folder: Path) -> None:
    (folder / "pom.xml").write_text(_POM)
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}", "-DincludeScope=runtime"]
    ran = subprocess.run(["mvn", "-q", "-B", *goal], cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        reason = ran.stdout.strip().partition("\n")[0]
        raise UnavailableError(f"Maven could not fetch Kafka {VERSION}: {reason}")
