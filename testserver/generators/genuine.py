"""Requests to a genuine server, as the administrator of a kubeconfig that `realapi` wrote."""
import base64
import http.client
import json
import os
import re
import ssl
import tempfile
import threading
import urllib.parse


class Server:
    def __init__(self, kubeconfig, agent="recorder"):
        text = open(kubeconfig).read()
        base = os.path.dirname(os.path.abspath(kubeconfig))
        self.address = urllib.parse.urlsplit(re.search(r"server: *\"?(https?://[^\s\"}]+)", text)[1])
        self.context = ssl.create_default_context(cafile=self._file(text, base, "certificate-authority"))
        self.context.load_cert_chain(self._file(text, base, "client-certificate"), self._file(text, base, "client-key"))
        self.local = threading.local()
        # The field manager of updates.
        self.agent = agent

    @staticmethod
    def _file(text, base, name):
        if found := re.search(rf"{name}: *\"?([^\s\",}}]+)", text):
            return os.path.join(base, found[1])
        data = base64.b64decode(re.search(rf"{name}-data: *\"?([^\s\",}}]+)", text)[1])
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(data)
        return file.name

    def call(self, verb, path, body=None, kind="application/json"):
        """The status and the decoded body of the response."""
        code, _, answer = self.full(verb, path, body, kind)
        return code, answer

    def full(self, verb, path, body=None, kind="application/json"):
        """The status, the headers and the decoded body of the response."""
        for retry in (True, False):
            if getattr(self.local, "link", None) is None:
                self.local.link = http.client.HTTPSConnection(self.address.hostname, self.address.port, context=self.context)
            data = body if body is None or isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body)
            try:
                self.local.link.request(verb, path, data, {"content-type": kind, "user-agent": self.agent})
                response = self.local.link.getresponse()
                text = response.read()
                break
            except (http.client.HTTPException, OSError):
                self.local.link = None
                if not retry:
                    raise
        try:
            return response.status, response.headers, json.loads(text)
        except ValueError:
            return response.status, response.headers, text.decode(errors="replace")
