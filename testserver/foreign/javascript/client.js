// The npm client `@kubernetes/client-node` against a server whose pods run: create, conflict, custom objects, watch, logs, exec.
//
//     KUBECONFIG=file node client.js
//
// Prints one line per check, and ends with 1 at the first that fails. The server must be empty and run pods.

import assert from "node:assert/strict";
import { PassThrough } from "node:stream";

import * as k8s from "@kubernetes/client-node";

const CRD = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.foreign.test" },
  spec: {
    group: "foreign.test",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { color: { type: "string" } } } },
          },
        },
      },
    ],
  },
};

const namespace = "default";
const config = new k8s.KubeConfig();
config.loadFromFile(process.env.KUBECONFIG);
const core = config.makeApiClient(k8s.CoreV1Api);

function check(name, got, want) {
  assert.deepEqual(got, want, name);
  console.log(`ok ${name}`);
}

/** Calls until the result is wanted. */
async function eventually(name, call, wanted) {
  for (const end = Date.now() + 20_000; ; ) {
    const got = await call();
    if (wanted(got)) {
      console.log(`ok ${name}`);
      return got;
    }
    assert(Date.now() < end, `${name}: ${JSON.stringify(got)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function typed() {
  const made = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "a" }, data: { k: "1" } } });
  check("create", [made.metadata.name, made.data], ["a", { k: "1" }]);
  const changed = await core.replaceNamespacedConfigMap({ name: "a", namespace, body: { ...made, data: { k: "2" } } });
  check("replace", changed.data, { k: "2" });
  const conflict = await core.replaceNamespacedConfigMap({ name: "a", namespace, body: made }).catch((error) => error);
  check("conflict", conflict.code, 409);
  const missing = await core.readNamespacedConfigMap({ name: "none", namespace }).catch((error) => error);
  check("not found", missing.code, 404);
}

async function custom() {
  await config.makeApiClient(k8s.ApiextensionsV1Api).createCustomResourceDefinition({ body: CRD });
  const objects = k8s.KubernetesObjectApi.makeApiClient(config);
  const widget = { apiVersion: "foreign.test/v1", kind: "Widget", metadata: { name: "w", namespace }, spec: { color: "red" } };
  check("custom object", (await objects.create(widget)).spec, { color: "red" });
  const patched = await objects.patch({ ...widget, spec: { color: "blue" } }, undefined, undefined, "it", true, k8s.PatchStrategy.ServerSideApply);
  check("apply", patched.spec, { color: "blue" });
}

async function watched() {
  const seen = [];
  const list = () => core.listNamespacedConfigMap({ namespace, labelSelector: "watched=yes" });
  const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list, "watched=yes");
  for (const event of ["add", "update", "delete"]) {
    informer.on(event, (object) => seen.push([event, object.metadata.name]));
  }
  await informer.start();
  const made = await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "b", labels: { watched: "yes" } } } });
  await core.replaceNamespacedConfigMap({ name: "b", namespace, body: { ...made, data: { k: "1" } } });
  await core.deleteNamespacedConfigMap({ name: "b", namespace });
  await eventually("watch", () => seen, (events) => events.length === 3);
  await informer.stop();
  check("events", seen, [["add", "b"], ["update", "b"], ["delete", "b"]]);
}

async function pods() {
  await core.createNamespacedPod({ namespace, body: { metadata: { name: "p" }, spec: { containers: [{ name: "main", image: "i" }] } } });
  await eventually("running", () => core.readNamespacedPod({ name: "p", namespace }), (pod) => pod.status.phase === "Running");
  check("logs", await core.readNamespacedPodLog({ name: "p", namespace }), "");
  const output = new PassThrough();
  const read = output.toArray();
  const status = await new Promise((resolve, reject) => {
    const exec = new k8s.Exec(config);
    exec.exec(namespace, "p", "main", ["sh", "-c", "echo hello"], output, null, null, false, resolve).catch(reject);
  });
  output.end();
  check("exec", [status.status, (await read).join("")], ["Success", "hello\n"]);
}

await typed();
await custom();
await watched();
await pods();
process.exit(0);
