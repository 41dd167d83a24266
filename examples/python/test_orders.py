"""A test with the PyPI `kubernetes` client: each test has an API server of its own.

    pip install kubernetes
    cargo build -p kube-testserver
    KUBE_TESTSERVER=target/debug/kube-testserver python3 -m unittest discover examples/python
"""

import contextlib
import unittest

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException
from testserver import testserver


def place(api, name, item):
    """The code under test: an order is a ConfigMap, and is placed once."""
    order = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"kind": "order"}), data={"item": item})
    try:
        return api.create_namespaced_config_map("default", order)
    except ApiException as error:
        if error.status != 409:
            raise
        return api.read_namespaced_config_map(name, "default")


class Orders(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        kubeconfig = stack.enter_context(testserver("--tls"))
        connection = stack.enter_context(config.new_client_from_config(kubeconfig))
        self.api = client.CoreV1Api(connection)

    def test_an_order_is_placed_once(self):
        first = place(self.api, "one", "tea")
        again = place(self.api, "one", "coffee")
        self.assertEqual(first.metadata.uid, again.metadata.uid)
        self.assertEqual(again.data, {"item": "tea"})

    def test_orders_are_watched(self):
        start = self.api.list_namespaced_config_map("default").metadata.resource_version
        place(self.api, "one", "tea")
        place(self.api, "two", "coffee")
        self.api.delete_namespaced_config_map("one", "default")
        events = watch.Watch().stream(self.api.list_namespaced_config_map, "default", label_selector="kind=order",
                                      resource_version=start, timeout_seconds=1)
        seen = [(event["type"], event["object"].metadata.name) for event in events]
        self.assertEqual(seen, [("ADDED", "one"), ("ADDED", "two"), ("DELETED", "one")])

    def test_a_stale_write_is_a_conflict(self):
        order = place(self.api, "one", "tea")
        self.api.patch_namespaced_config_map("one", "default", {"data": {"item": "coffee"}})
        order.data = {"item": "milk"}
        with self.assertRaises(ApiException) as refused:
            self.api.replace_namespaced_config_map("one", "default", order)
        self.assertEqual(refused.exception.status, 409)

    def test_a_server_that_cannot_start_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "expected an IP address"):
            with testserver("--bind-address", "nowhere"):
                self.fail("the server has started")


if __name__ == "__main__":
    unittest.main()
