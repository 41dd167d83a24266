#!/usr/bin/env python3
"""Writes table.json: what kubectl sends for each text below. For the test `yaml_texts`.

    ./ask_kubectl.py PATH_OF_KUBECTL

`kubectl create --validate=false -f -` reads each text, and sends what it read to an HTTP server here, which knows the kinds ConfigMap and Odd
(with any fields) and records each body. kubectl also ends with an error or without.
"""

import http.server, json, os, pathlib, subprocess, sys, tempfile, threading

ODD = "apiVersion: example.com/v1\nkind: Odd\nmetadata: {name: a}\n"
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n"


def named(name):
    return MAP.replace("NAME", name)


def json_map(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


# The values of a field, each in a text of its own.
SCALARS = [
    # Booleans and null of YAML 1.1, and what only looks like them.
    *"y Y yes Yes YES yEs n N no No NO nO true True TRUE tRUE false False FALSE fALSE on On ON oN off Off OFF oFF".split(),
    *"~ null Null NULL nUll nil None".split(), "", "~x", "!!null x", "!!null ''", "!!bool yes", "!!bool 'yes'", "!!bool x", "!!str yes", "!!str", "!!str 1_000",
    # Whole numbers.
    *"0 -0 +0 1 +1 -1 007 0644 -0644 +0644 08 09 018 0o17 0O17 -0o17 0o18 0x1F 0X1f -0x1F +0x1F 0x 0xg 0b11 0B11 -0b11 +0b11 0b12 0b -0x".split(),
    *"1_000 1__0 _1 1_ 1_000_ 0_7 0x_1F 0x1_F 0b1_1 -1_0 0o1_7 00 000 0_ __ + - -- +-1".split(),
    *"9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616".split(),
    *"0xffffffffffffffff 0x10000000000000000 0777777777777777777777 01777777777777777777777 12345678901234567890 123456789012345678901234567890".split(),
    *"9007199254740993 -9007199254740993 1000000000000000000000".split(), "!!int 5", "!!int '5'", "!!int 0x10", "!!int 1.5", "!!int x", "!!int 1e3", "!!str 5",
    # Others.
    *"1.0 -1.0 +1.0 1. .5 -.5 +.5 . .. ._5 5._ .5_0 ._ 1.5 1_0.5 1.5_0 01.5 1e3 1E3 1e+3 1e-3 1.e3 .5e1 1e 1e+ e3 1e16 1e15 1e17 1.5e16 1e18 1e19 1e20 1e21 1e22".split(),
    *"1e400 -1e400 1e-400 1e308 1.7976931348623157e308 0x1p4 1_e3 1e1_0 1.2.3 1,000 -0.0 123456789.123456789 0.1 1e-7 0.000001 0.0000001 4.35 3.0e-1".split(),
    *".inf -.inf +.inf .Inf .INF .iNF .nan .NaN .NAN .Nan inf nan Infinity NaN +.nan".split(), "!!float 1", "!!float 1.5", "!!float x", "!!float '1'",
    # Base 60, times and versions.
    *"12:30 12:30:45 190:20:30.15 1:1 2001-01-01 2001-1-1 2001-01-01T10:00:00Z 2001-12-14t21:59:43.10-05:00 2001-13-45 0001-01-01 2001-01 1.2.3-4 v1 1.20".split(),
    "2001-12-14 21:59:43.10", "2001-12-14 21:59:43.10 -5", "!!timestamp 2001-01-01", "!!timestamp x", "!!binary aGk=", "!!binary /w==", "!!binary '%'", "!!binary a",
    # Texts, and their quotes.
    "'yes'", '"yes"', "'1'", '"~"', "''", '""', "'it''s'", r'"a\tb\n\x41\u00e9\U0001F600\e\0\/\ \_\N\L\P"', r'"\q"', r'"\ud83d\ude00"', r'"\ud83d"', r"'a\nb'", '"a""b"', "'a' b", '"a" b',
    '"b"#c', '"b" #c', "'b'#c", "b#c", "b #c", "#c", "b# c", "[1]#c", "{a: b}#c", "[1] #c", "a: b", "a:b", "a:", "- a", "-a", "? a", "?a", ":a", ": a", "a,b", "[a,b]", "[a, b,]", "[,]", "[a,,b]",
    "{a: b,}", "{a}", "{a, b: c}", "{a:b}", '{"a":b}', '{"a":1,"b":[2]}', "{a:}", "{a: }", "{: b}", "{,}", "[a: b]", "[a: b, c]", "[? a : b]", "{? a : b}", "{? a}", "{a: {b: [c, {d: e}]}}", "{1: a, 1.5: b, yes: c}", "{~: a}",
    "{[a]: b}", "{{a: b}: c}", "[[[]]]", "[", "]", "{", "}", "[a}", "{a]", "[a, b", "@a", "`a", "%a", "&a", "&a b", "*a", "!a", "!a b", "!!a b", "!<tag:yaml.org,2002:str> 5", "!<!x> 5", "! 5", "!!map {a: b}", "!!seq [a]",
    "!!map [a]", "!!set {a}", "!!omap [a: b]", "!!str [a]", "!!str {a: b}", "| ", ">", "a | b", "a > b", "a\\b", "a\tb", "\ta", "a\t", "é", "\U0001F600", "\u2028", "a\u2028b", "\u0085", "a\u0085b", "\u00a0", "\ufeff", "a\ufeffb", "'a\ufeffb'", "\x7f", "a\x01b", "\x00", "'a\tb'", "<<", "=", "'<<'", "a'b", 'a"b', "-", "?", ":", "{a: 'x'y}", "[a b, c d]", "[a #b\n]", "[\"a\"#b\n]", "[a, #b\n  c]",
    "{a: b}, c", "{a: b} c", "[a] b", "{a: http://b:80/c}", "[http://b]", "{a: b:c}", "[::1]", "{a: ::1}", "::1", "[a:]", "{a: -}", "[-]", "[- a]", "[-1, +2, ~, ]", "{a: ?b}", "[?b]", "{%a: b}", "[%a]", "[a%]", "[@a]", "{a: b?}", "{'a':b}", "{'a': 'b','c': d}", "{a: &x b, c: *x}", "{a: &x b, *x : c}",
]

# Texts after the header of an object.
BLOCKS = [
    # Quoted and plain texts of several lines.
    'a: "one\n  two"\n', 'a: "one\ntwo"\n', "a: 'one\ntwo'\n", 'a: "one\n\n\ntwo"\n', 'a: "one\\\n  two"\n', 'a: "one\\\ntwo"\n', "a: 'one\n\n\n\ntwo'\nb: c\n", "spec:\n  a: 'one\n  two'\n", "spec:\n  a: 'one\n two'\n", "spec:\n  a: 'one\ntwo'\n", 'spec:\n  a: "one\n  two\n  "\n  b: c\n',
    'spec:\n- "one\n- two"\n', 'spec:\n- a: "one\n  two: three"\n', 'spec:\n  a: "one\n\ttwo"\n', "spec:\n  a: 'one\n\t two'\n", "spec:\n  a: {b: 'one\n  two'}\n", "a: \"one\n# two\"\n", "a: \"one\n--- two\"\n", "a: \"one\n---\ntwo\"\n", "a: \"one\n...\ntwo\"\n", "a: 'one\n...x'\n",
    "a: one\n  two\n", "a: one\ntwo\n", "a: one\n\n  two\n", "a: one\n  two: three\n", "a: one\n  - two\n", "a: one\n  # two\n  three\n", "a: one # two\n  three\n", "a: one\n\ttwo\n", "a: one\n \ttwo\n", "a:\n  one\n  two\n", "a:\none\n", "a:\n\n\n  one\n", '"a\nb": c\n', "'a\n b': c\n", "a b: c\n", "? a\n: b\n", "? a\n", "? |\n  a\n: b\n", "? [a]\n: b\n", "? a\nb: c\n",
    # Block scalars.
    "a: |\n  b\n  c\n", "a: |-\n  b\n  c\n", "a: |+\n  b\n\n", "a: |\n  b\n\n", "a: >\n  b\n  c\n", "a: >-\n  b\n  c\n", "a: >+\n  b\n\n\n", "a: |2\n   b\n  c\n", "a: |2-\n   b\n", "a: |-2\n   b\n", "a: |1\n  b\n", "a: |0\n  b\n", "a: |10\n  b\n", "a: |9\n  b\n", "a: |x\n  b\n", "a: |+-\n  b\n", "a: | # c\n  b\n", "a: |# c\n  b\n",
    "a: |\n  b\n # c\n  d\n", "a: |\n  b\n# c\n", "a: |\n   b\n  c\n", "a: |\n\n   b\n", "a: |\n     \n  b\n", "a: |\n", "a: |\nb: c\n", "a: |", "a: |-", "a: |\n  b", "a: |+\n  b", "a: |\n  b\n  ", "a: |\n\tb\n", "a: |\n  \tb\n", "a: |\n  b\n\tc\n", "a: |\n  b\n  \n  c\n", "a: |\r\n  b\r\n  c\r\n", "a: >\n  b\n\n  c\n", "a: >\n  b\n   c\n  d\n", "a: >\n\n  b\n", "a: >\n  b  \n  c\n", "a: |\n  ---\n  b\n", "a: |\n  b\n  # c\n", "spec:\n- |\n  a\n- b\n", "spec:\n  - |\n    a\n  - >-\n    b\n    c\n", "- a\n", "a: |\n b: c\n", "a: >2\n    b\n  c\n",
    # Indentation, tabs, comments, line ends.
    "spec:\n  a: b\n c: d\n", "spec:\n  a: b\n   c: d\n", "spec:\n- a\n- b\n", "spec:\n  - a\n  - b\n", "spec:\n  - a\n - b\n", "spec:\n- - a\n  - b\n- c\n", "spec:\n-\n  a: b\n-\n  - c\n", "spec:\n- a: b\n  c: d\n-   e: f\n    g: h\n", "spec:\n-\ta\n", "spec:\n- \ta: b\n", "spec:\n\ta: b\n", "spec:\n  a:\tb\n", "spec:\n  a\t: b\n", "a: b\t\n", "a: b\t# c\n", "a: b #c\n", "\t# c\n", "a: b\n\t\n", "a: b\n\t\nc: d\n", "a: b\n  \t# c\nd: e\n", "spec:\n  a: b\n\t# c\n  d: e\n",
    "spec: {\n\ta: b\n}\n", "spec: {\n\t\"a\": \"b\",\n\t\"c\": [\n\t\t1\n\t]\n}\n", "spec: {a:\tb}\n", "spec: [\n\ta,\n\tb\n]\n", "spec: {\na: b\n}\n", "spec: {\n  a: b\n}\n", "spec:\n  {a: b}\n", "spec:\n  a: {\n  b: c\n}\n", "spec:\n  a: [\nb\n]\n", "spec: [a,\n b]\n", "spec: {a: b\n, c: d}\n", "spec: {a: b,\n# c\n d: e}\n", "spec: {a\n: b}\n", "spec: {\"a\"\n: b}\n", "spec: [a\n b]\n", "spec: {a: b\n c}\n", "spec: {a: 'b\nc'}\n",
    "a: b\rc: d\n", "a: b\r\nc: d\r\n", "a: b", "a: b\n\n\n", "# c\n#d\na: b # e\n", "a: # c\n  b\n", "a: # c\n  b: c\n", "a: # c\n- b\n", "spec:\n  - # c\n    a: b\n", "a: b\n...\n", "a: b\n... # c\n", "a: b\n...\n# c\n", "a: b\n..\n", "a : b\n", "'a': b\n", "\"a\": b\n", "a:b\n", "a: b: c\n", "a: 'b': c\n", ": b\n", "a: b\n  c: d\n", "a: b\nc\n", "a:\nb:\n", "a: \nb: ~\n", "a:\n- b\n- \n- ~\n", "spec: &x\n  a: b\nother: *x\n", "spec: &x\n- a\n", "spec:\n  &x a: b\n  c: *x\n", "spec: !!map\n  a: b\n", "a: !!str\n  b\n",
    # Keys.
    "1: a\n", "1.0: a\n", "1.5: a\n", "1e3: a\n", "1e21: a\n", "0x10: a\n", "0644: a\n", "yes: a\n", "no: a\n", "~: a\n", "null: a\n", "'1': a\n", "2001-01-01: a\n", "18446744073709551615: a\n", "16777217.0: a\n", "0.1: a\n", "1234567.5: a\n", ".inf: a\n", "[a]: b\n", "{a: b}: c\n", "!!str 1: a\n", "!!binary aGk=: a\n", "*x : a\n", "&x a: *x\n", "a: 1\na: 2\n", "spec: {a: 1, a: 2}\n", "1: a\n'1': b\n", "yes: a\n'true': b\n", "1: a\n1.0: b\n", "kind: Odd\n",
    # Anchors and merge keys.
    "a: &x 1\nb: *x\n", "a: &x [1]\nb: [*x, *x]\n", "a: &x {b: c}\nd: {<<: *x, e: f}\n", "a: &x {b: c}\nd: {b: 1, <<: *x}\n", "a: &x {b: c}\nd: {<<: *x, b: 1}\n", "a: &x {b: c}\ny: &y {b: d, e: f}\nd: {<<: [*x, *y]}\n", "d: {<<: {a: b}}\n", "d: {<<: [{a: b}, {a: c, d: e}]}\n", "d: {<<: 1}\n", "d: {<<: ~}\n", "d: {<<: [1]}\n", "d: {<<: []}\n", "a: &x [1]\nd: {<<: *x}\n", "a: &x 1\nd: {<<: *x}\n", "d: {'<<': {a: b}}\n", "d: {\"<<\": 1}\n", "d: {!!merge <<: {a: b}}\n", "d: {!!str <<: {a: b}}\n", "a: &x {<<: {b: c}}\nd: {<<: *x}\n", "d: {<<: {a: b}, <<: {c: d}}\n", "a: &x {b: c}\nd:\n  <<: *x\n  e: f\n", "d: {<<: {a: ~}}\n",
    "a: &x 1\nb: &x 2\nc: *x\n", "a: &x {b: *x}\n", "a: &x [*x]\n", "a: *x\nb: &x 1\n", "a: &x\nb: *x\n", "a: &x.y 1\nb: *x.y\n", "a: &x-y_1 1\nb: *x-y_1\n", "a: &é 1\nb: *é\n", "a: & 1\n", "a: &x &y 1\n", "a: &x !!str 1\nb: *x\n", "a: !!str &x 1\nb: *x\n", "a: &x *x\n", "d: [*x]\n", "a: &x yes\nb: *x\nc: 'x*x'\n", "a: &x, 1\n", "d: {a: &x , b: *x }\n", "d: {a: &x 1, b: *x}\n", "a: &x ~\nd: {<<: *x}\n",
    # Deep, long and many.
    "d: " + "[" * 100 + "]" * 100 + "\n", "a: &x [1, 2, 3]\nb: [" + ", ".join(["*x"] * 300) + "]\n", "d: {" + "a" * 1100 + ": b}\n", "a" * 1100 + ": b\n", "? " + "a" * 1100 + "\n: b\n", "d: [" + "'" + "a" * 1100 + "': b]\n",
]

# Whole texts.
TEXTS = [
    # Nothing.
    "", "\n", "   ", "# c\n", "---\n", "---\n---\n", "null\n", "~", "--- ~\n", "{}", "[]", "a", "1", "'a'", "- a\n", "\ufeff", "...\n", "---\n...\n", "\t\n",
    # Several documents, and what separates them.
    named("a") + "---\n" + named("b"), "---\n" + named("a") + "---\n", named("a") + "--- # c\n" + named("b"), named("a") + "---   \n" + named("b"), named("a") + "---\t\n" + named("b"), named("a") + "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
    "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n", "--- !!map\n" + named("a"), "--- &x\n" + named("a"), "--- |\n a\n", named("a") + "...\n" + named("b"), named("a") + "...\n---\n" + named("b"), named("a") + "---\n# c\n---\n" + named("b"), named("a") + "---\n~\n---\n" + named("b"), named("a") + "---\n\n---\n" + named("b"),
    named("a") + "---\r\n" + named("b"), named("a").replace("\n", "\r\n") + "---\r\n" + named("b").replace("\n", "\r\n"), named("a") + " ---\n" + named("b"), named("a") + "---b\n", named("a") + "----\n" + named("b"), "%YAML 1.1\n---\n" + named("a"), "%YAML 1.2\n---\n" + named("a"), "%TAG ! tag:x,2000:\n---\n" + named("a"), "%YAML 1.1\n" + named("a"), "%FOO bar\n---\n" + named("a"),
    "# c\n---\n" + named("a"), "\ufeff" + named("a"), "\ufeff---\n" + named("a"), named("a") + "---\n\ufeff" + named("b"), named("a") + "\ufeff---\n" + named("b"), "# c\n\ufeff" + named("a"), "\n\ufeff" + named("a"), named("a") + "\ufeffdata: {}\n", named("a") + "---\n\ufeff# c\n" + named("b"), "\ufeff" + json.dumps(json_map("a")), named("a") + "---\na: [\n", named("a") + "---\nx: y\n", "a: [\n---\n" + named("a"),
    named("a") + "data:\n  x: |\n    ---\n    y\n---\n" + named("b"), named("a") + "data:\n  x: |\n    y\n---\n" + named("b"), named("a") + "data: &x {y: z}\n---\n" + named("b") + "data: *x\n",
    # JSON.
    json.dumps(json_map("a")), json.dumps(json_map("a"), indent="\t"), json.dumps(json_map("a")) + json.dumps(json_map("b")), json.dumps(json_map("a")) + "\n" + json.dumps(json_map("b")) + "\n", json.dumps(json_map("a")) + "\n---\n" + json.dumps(json_map("b")), json.dumps(json_map("a")) + "---\n" + json.dumps(json_map("b")), json.dumps(json_map("a")) + "\n---\n" + named("b"), json.dumps(json_map("a")) + "\n" + named("b"),
    named("a") + "---\n" + json.dumps(json_map("b")), named("a") + "---\n" + json.dumps(json_map("b"), indent="\t"), json.dumps(json_map("a")) + "\n---\n" + json.dumps(json_map("b")) + "\n---\n" + json.dumps(json_map("c")), json.dumps(json_map("a")) + json.dumps(json_map("b")) + "\n---\n" + named("c"), json.dumps(json_map("a")) + " x", json.dumps(json_map("a")) + ",", json.dumps(json_map("a")) + "\n# c\n", json.dumps(json_map("a"))[:-1], json.dumps([json_map("a")]), "\n\n  " + json.dumps(json_map("a")),
    '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},}', "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" + named("b"), '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}} # c', '{"apiVersion": "v1", "kind": "ConfigMap", /* c */ "metadata": {"name": "a"}}',
    '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": [1.0, 1e3, 1e16, 1E+2, 1e400]}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": [1.0, 1e3, 1e16, 1E+2, -0, -0.0, 1e21, 1.5]}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": [18446744073709551615, 9223372036854775808, 12345678901234567890123]}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": [012]}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": [yes, 0x10]}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": "\\ud83d"}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": "\\ud83d\\ude00\\/"}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": "a\tb"}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": 1, "n": 2}', '{"apiVersion": "example.com/v1", "kind": "Odd", "metadata": {"name": "a"}, "n": NaN}',
    # Lists, and what has items.
    json.dumps({"apiVersion": "v1", "kind": "List", "items": [json_map("a"), json_map("b")]}), "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "apiVersion: v1\nkind: List\nitems: []\n", "apiVersion: v1\nkind: List\nitems:\n", "apiVersion: v1\nkind: List\n", "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n", "apiVersion: v1\nkind: ConfigMapList\nitems: [{kind: ConfigMap, metadata: {name: a}}]\n", "apiVersion: v1\nkind: ConfigMapList\nitems: [{apiVersion: v1, metadata: {name: a}}]\n", "apiVersion: v1\nkind: ConfigMapList\nitems: [{apiVersion: example.com/v1, kind: Odd, metadata: {name: a}}]\n", "apiVersion: v1\nkind: List\nitems: [{metadata: {name: a}}]\n", "apiVersion: v1\nkind: List\nitems: [~]\n", "apiVersion: v1\nkind: List\nitems: [1]\n", "apiVersion: v1\nkind: List\nitems: {a: b}\n", "apiVersion: v1\nkind: List\nitems: text\n",
    "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
    ODD + "items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]\n", ODD + "items: []\n", ODD + "items: ~\n", ODD + "items: {a: b}\n", ODD + "items: [a]\n", ODD + "items: [{a: b}]\n", ODD + "items: [{metadata: {name: b}}]\n", "apiVersion: v1\nkind: ConfigMap\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]\n", ODD + "items: text\n", ODD + "spec: {items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]}\n",
    "apiVersion: example.com/v1\nkind: OddList\nmetadata: {name: a}\nspec: {}\n", "apiVersion: example.com/v1\nkind: OddList\nmetadata: {name: a}\nitems: [{metadata: {name: b}}]\n", "kind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n", "items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n", "apiVersion: v1\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n",
    # The header and metadata.
    "kind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nmetadata: {name: a}\n", "apiVersion: ''\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: 1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: ~\nmetadata: {name: a}\n", "apiVersion: v1\nkind: [ConfigMap]\nmetadata: {name: a}\n", "ApiVersion: v1\nKind: ConfigMap\nmetadata: {name: a}\n",
    *(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n" for metadata in [
        "{name: a, labels: ~}", "{name: a, labels: {}}", "{name: a, labels: {b: ~}}", "{name: a, labels: {b: ~, c: d}}", "{name: a, labels: {b: 1}}", "{name: a, labels: {b: yes}}", "{name: a, labels: {b: [c]}}", "{name: a, labels: [b]}", "{name: a, labels: text}", "{name: a, labels: {1: b}}", "{name: a, labels: {b: ''}}", "{name: a, annotations: {b: ~}}", "{name: a, annotations: {b: 1}}", "{name: a, annotations: ~}", "{name: a, annotations: {b: {c: d}}}",
        "{name: 1}", "{name: ~}", "{name: ''}", "{name: [a]}", "{name: 1, generateName: b-}", "{generateName: a-}", "{generateName: 1}", "{name: a, generateName: ~}", "~", "{}", "[]", "text", "{name: a, namespace: ~}", "{name: a, namespace: ''}", "{name: a, namespace: 1}", "{name: a, uid: ~}", "{name: a, creationTimestamp: ~}", "{name: a, creationTimestamp: 2001-01-01T00:00:00Z}", "{name: a, creationTimestamp: text}", "{name: a, finalizers: ~}", "{name: a, finalizers: [~]}", "{name: a, finalizers: [b]}", "{name: a, finalizers: b}", "{name: a, ownerReferences: ~}", "{name: a, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: b, uid: c}]}", "{name: a, ownerReferences: [{name: b}]}", "{name: a, ownerReferences: [~]}", "{name: a, generation: 1}", "{name: a, generation: 1.0}", "{name: a, generation: '1'}", "{name: a, unknown: b}", "{name: a, managedFields: ~}", "{name: a, managedFields: []}", "{name: a, deletionGracePeriodSeconds: ~}", "{name: a, resourceVersion: 1}", "{name: a, resourceVersion: ''}", "{name: a, selfLink: ''}", "{name: a, clusterName: b}",
    ]),
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: ~, b: 1, c: yes}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nstatus: ~\n", named("a") + "---\n" + named("a"),
]


def texts():
    yield from (f"{ODD}a: {scalar}\n" for scalar in SCALARS)
    yield from (ODD + block for block in BLOCKS)
    yield from TEXTS


CORE = {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
    {"name": "configmaps", "singularName": "configmap", "namespaced": False, "kind": "ConfigMap", "verbs": ["create", "get"]}]}
EXAMPLE = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "example.com/v1", "resources": [
    {"name": "odds", "singularName": "odd", "namespaced": False, "kind": "Odd", "verbs": ["create", "get"]},
    {"name": "oddlists", "singularName": "oddlist", "namespaced": False, "kind": "OddList", "verbs": ["create", "get"]}]}
VERSION = {"groupVersion": "example.com/v1", "version": "v1"}
DISCOVERY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "example.com", "versions": [VERSION], "preferredVersion": VERSION}]},
    "/api/v1": CORE,
    "/apis/example.com/v1": EXAMPLE,
}
sent = []


class Recorder(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(DISCOVERY.get(self.path.split("?")[0]))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        sent.append(body.decode())
        self.answer(json.loads(body))

    def answer(self, value):
        body = json.dumps(value or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}).encode()
        self.send_response(404 if value is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    kubectl, folder = sys.argv[1], pathlib.Path(tempfile.mkdtemp())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = [kubectl, "--server", f"http://127.0.0.1:{server.server_port}", "create", "--validate=false", "-f", "-"]

    def row(text):
        sent.clear()
        asked = subprocess.run(command, env=environment, input=text.encode(), capture_output=True, timeout=60)
        found = {"text": text, "sends": list(sent)}
        if asked.returncode != 0:
            found["error"] = asked.stderr.decode(errors="replace").strip()
        return found

    table = [row(text) for text in dict.fromkeys(texts())]
    version = json.loads(subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, check=True).stdout)["clientVersion"]["gitVersion"]
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=True) for row in table)
    pathlib.Path(__file__).with_name("table.json").write_text(f'{{\n "kubectl": "{version}",\n "rows": [\n{rows}\n ]\n}}\n')
    print(len(table), "texts,", sum("error" in row for row in table), "with an error")


main()
