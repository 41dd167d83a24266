#!/usr/bin/env python3
"""Writes messages.txt: the protobuf messages of the kinds that `kubectl` commands create.

    messages.py APISERVER

APISERVER is a server of Kubernetes, an ELF executable for amd64 that was linked at fixed addresses, as the
`apiextensions-apiserver` of `realapi up modern` is. Go describes the types of a program in the program, for `reflect`:
here a struct lists its fields with their tags (`json:"stdin,omitempty" protobuf:"varint,16,opt,name=stdin"`) and types.
"""
import os
import re
import struct
import sys

KINDS = {
    "v1": ["Binding", "ConfigMap", "Namespace", "Pod", "ResourceQuota", "Secret", "Service", "ServiceAccount"],
    "apps/v1": ["Deployment"],
    "authentication.k8s.io/v1": ["SelfSubjectReview", "TokenRequest"],
    "authorization.k8s.io/v1": ["SelfSubjectAccessReview", "SelfSubjectRulesReview"],
    "autoscaling/v1": ["HorizontalPodAutoscaler"],
    "batch/v1": ["CronJob", "Job"],
    "networking.k8s.io/v1": ["Ingress"],
    "policy/v1": ["Eviction", "PodDisruptionBudget"],
    "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    "scheduling.k8s.io/v1": ["PriorityClass"],
}
# The server's own, of every kind and of metadata.
IGNORED = {"status", "ObjectMeta.selfLink", "ObjectMeta.generation", "ObjectMeta.creationTimestamp",
           "ObjectMeta.deletionTimestamp", "ObjectMeta.deletionGracePeriodSeconds", "ObjectMeta.managedFields"}
PACKAGES = re.compile(r"k8s\.io/(?:api|apimachinery/pkg/apis)/([a-z]+/v[a-z0-9]+)$")
HEADER = """\
# Written by messages.py from the Go types of Kubernetes 1.36. Kinds by apiVersion and kind, then the messages in them by name.
# Each field: number, name in JSON, and how it is written.
#
#   text bool int        left out when empty, false or 0, as Go leaves them out of JSON
#   text! bool! int!     pointers, or never left out: kept whatever they are
#   texts ints           lists
#   labels bytes         a map of texts, a map of bytes (base64 in JSON)
#   quantity quantities  a quantity, a map of texts to quantities
#   either               a number or a text
#   name name*           a message, a list of messages
#   name<                a message whose members are the parent's own
#   -                    the server's own; not read

"""

# Kinds of types in Go's `reflect`.
BOOL, INT, UINT64, MAP, POINTER, SLICE, STRING, STRUCT = 1, 2, 11, 21, 22, 23, 24, 25
BYTE = 8


class Program:
    """The types of a Go program, by address. The layouts are those of Go's `internal/abi`."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        table, = struct.unpack_from("<Q", self.bytes, 40)
        entry, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        sections = [struct.unpack_from("<IIQQQQ", self.bytes, table + entry * at) for at in range(count)]
        names = sections[names][4]
        self.sections = {}
        for name, _, _, address, offset, size in sections:
            end = self.bytes.index(b"\0", names + name)
            self.sections[self.bytes[names + name:end].decode()] = (address, offset, size)
        self.types = self.sections[".rodata"][0]

    def offset(self, address):
        for start, offset, size in self.sections.values():
            if start and start <= address < start + size:
                return address - start + offset
        raise ValueError(f"{address:#x} is in no section")

    def word(self, address, format="<Q"):
        return struct.unpack_from(format, self.bytes, self.offset(address))[0]

    def texts(self, address):
        """A name and its tag."""
        at = self.offset(address)
        tagged, at, out = self.bytes[at] & 2, at + 1, []
        for _ in range(2 if tagged else 1):
            length = shift = 0
            while True:
                byte = self.bytes[at]
                length, shift, at = length | (byte & 127) << shift, shift + 7, at + 1
                if byte < 128:
                    break
            out.append(self.bytes[at:at + length].decode())
            at += length
        return out if tagged else [*out, ""]

    def kind(self, type):
        return self.bytes[self.offset(type) + 23] & 31

    def name(self, type):
        name = self.texts(self.types + self.word(type + 40, "<i"))[0]
        return name.lstrip("*").rsplit(".", 1)[-1]

    def element(self, type):
        return self.word(type + 48)

    def map(self, type):
        return self.word(type + 48), self.word(type + 56)

    def package(self, struct_type):
        named = self.bytes[self.offset(struct_type) + 20] & 1
        return self.texts(self.types + self.word(struct_type + 80, "<i"))[0] if named else ""

    def fields(self, struct_type):
        """Name, tag and type of each field."""
        first, count = self.word(struct_type + 56), self.word(struct_type + 64)
        for at in range(first, first + 24 * count, 24):
            yield *self.texts(self.word(at)), self.word(at + 8)

    def structs(self):
        """Every struct that some pointer or slice refers to, by package and name."""
        address, offset, size = self.sections[".typelink"]
        found, seen = {}, set()
        for at in range(offset, offset + size, 4):
            type = self.types + struct.unpack_from("<i", self.bytes, at)[0]
            while self.kind(type) in (POINTER, SLICE):
                type = self.element(type)
            if self.kind(type) == STRUCT and type not in seen:
                seen.add(type)
                found[self.package(type), self.name(type)] = type
        return found


def package_of(api_version):
    group, _, version = api_version.rpartition("/")
    group = group.split(".")[0] or "core"
    return f"k8s.io/api/{group}/{version}"


class Messages:
    def __init__(self, program):
        self.program = program
        self.structs = program.structs()
        self.lines = {}

    def kind(self, api_version, kind):
        type = self.structs[package_of(api_version), kind]
        return f"{api_version}/{kind}: {self.message(type, '')}\n"

    def message(self, type, prefix):
        fields = (self.field(prefix, *field) for field in self.program.fields(type))
        return ", ".join(f"{number} {rest}" for number, rest in sorted(field for field in fields if field))

    def field(self, prefix, name, tag, type):
        protobuf = re.search(r'protobuf:"[a-z0-9]+,(\d+),', tag)
        json = re.search(r'json:"([^",]*)([^"]*)"', tag)
        if not protobuf:
            return None  # apiVersion and kind, which are in the envelope
        inline = "inline" in json[2]
        name = json[1] or name[0].lower() + name[1:]
        ignored = prefix + name in IGNORED
        word = "-" if ignored else self.word(type, "omitempty" not in json[2]) + ("<" if inline else "")
        return int(protobuf[1]), f"{name} {word}"

    def word(self, type, kept):
        program, kind = self.program, self.program.kind(type)
        if kind == POINTER:
            return self.word(program.element(type), True)
        if kind == STRING:
            return "text!" if kept else "text"
        if kind == BOOL:
            return "bool!" if kept else "bool"
        if INT <= kind <= UINT64:
            return "int!" if kept else "int"
        if kind == STRUCT:
            return {"IntOrString": "either", "Quantity": "quantity"}.get(program.name(type)) or self.reference(type)
        if kind == SLICE:
            item = self.word(program.element(type), False)
            return {"text": "texts", "int": "ints"}.get(item) or f"{item}*"
        if kind == MAP:
            key, value = program.map(type)
            assert program.kind(key) == STRING
            if program.kind(value) == SLICE and program.kind(program.element(value)) == BYTE:
                return "bytes"
            return {"text": "labels", "quantity": "quantities"}[self.word(value, False)]
        raise ValueError(f"{program.name(type)} has a type that this script does not know: {kind}")

    def reference(self, type):
        package = PACKAGES.match(self.program.package(type))
        assert package, (self.program.package(type), self.program.name(type))
        name = f"{package[1]}.{self.program.name(type)}"
        if name not in self.lines:
            self.lines[name] = ""  # a message may contain itself
            self.lines[name] = self.message(type, self.program.name(type) + ".")
        return name


def main():
    messages = Messages(Program(sys.argv[1]))
    kinds = [messages.kind(api_version, kind) for api_version, kinds in KINDS.items() for kind in kinds]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../server/src/handlers/protobuf/messages.txt"), "w") as out:
        out.write(HEADER)
        out.writelines(kinds)
        out.write("\n")
        out.writelines(f"{name}: {fields}".rstrip() + "\n" for name, fields in sorted(messages.lines.items()))


main()
