"""A Kubernetes API server for a test: starts the standalone `kube-testserver` and stops it after the test.

Plain Python 3, no packages. As a fixture of pytest, in `conftest.py`:

    @pytest.fixture
    def kubeconfig():
        with testserver() as path:
            yield path

With unittest: `self.kubeconfig = self.enterContext(testserver())` in `setUp` (Python 3.11; before, an `ExitStack`).
"""

import contextlib
import os
import pathlib
import subprocess
import tempfile


@contextlib.contextmanager
def testserver(*arguments, binary=None):
    """Runs a server of its own, on a free port, without state on disk. Yields the path of its kubeconfig.

    `arguments` are those of the command line, such as `"--objects", "fixtures"`, `"--rbac"` or `"--tls"`. The program is
    `binary`, else the environment variable `KUBE_TESTSERVER`, else `kube-testserver` on the PATH.
    """
    program = binary or os.environ.get("KUBE_TESTSERVER", "kube-testserver")
    with tempfile.TemporaryDirectory() as directory:
        kubeconfig = pathlib.Path(directory, "kubeconfig")
        log = pathlib.Path(directory, "log")
        command = [program, "--port", "0", "--kubeconfig", str(kubeconfig), *arguments]
        with log.open("w") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            # One line says that the server is ready; the end of the output says that it could not start.
            if not process.stdout.readline():
                raise RuntimeError(f"{' '.join(command)} did not start:\n{log.read_text()}")
            yield str(kubeconfig)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
