#!/usr/bin/env python3
"""Writes down what the genuine server estimates that rules cost: costs.jsonl, a rule a line.

    record_costs.py KUBECONFIG > ../server/src/schema/cel/recorded/costs.jsonl

The server states an estimate only when it exceeds the budget, and with six digits when the excess is small. Each rule therefore
belongs to the items of a list, and `maxItems` is searched for until the factor is between 1 and 1.5.
"""
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor

from genuine import Server

STR = {"type": "string"}
# `self` of the rules.
SELF = {"type": "object", "properties": {
    "s": {**STR, "maxLength": 100}, "t": {**STR, "maxLength": 30}, "u": STR, "e": {**STR, "enum": ["abc", "defgh"]},
    "when": {**STR, "format": "date-time"}, "day": {**STR, "format": "date"}, "dur": {**STR, "format": "duration"},
    "bytes": {**STR, "format": "byte", "maxLength": 80}, "i": {"type": "integer"}, "n": {"type": "number"}, "b": {"type": "boolean"},
    "l": {"type": "array", "maxItems": 20, "items": {**STR, "maxLength": 10}}, "li": {"type": "array", "maxItems": 20, "items": {"type": "integer"}},
    "lo": {"type": "array", "maxItems": 10, "items": {"type": "object", "properties": {"k": {**STR, "maxLength": 8}, "v": {"type": "integer"}, "namespace": {**STR, "maxLength": 12}}}},
    "ll": {"type": "array", "maxItems": 5, "items": {"type": "array", "maxItems": 7, "items": {**STR, "maxLength": 10}}},
    "m": {"type": "object", "maxProperties": 12, "additionalProperties": {**STR, "maxLength": 15}},
    "mo": {"type": "object", "maxProperties": 6, "additionalProperties": {"type": "object", "properties": {"k": {**STR, "maxLength": 8}}}},
    "ml": {"type": "object", "maxProperties": 6, "additionalProperties": {"type": "array", "maxItems": 4, "items": {**STR, "maxLength": 10}}},
    "o": {"type": "object", "properties": {"x": {**STR, "maxLength": 40}, "y": {"type": "integer"}, "namespace": {**STR, "maxLength": 12}, "a-b": {**STR, "maxLength": 12}, "in": {**STR, "maxLength": 12}}},
    "namespace": {**STR, "maxLength": 63}, "a__b": {**STR, "maxLength": 63}, "a.b": {**STR, "maxLength": 63},
    "ios": {"x-kubernetes-int-or-string": True}, "iosmax": {"x-kubernetes-int-or-string": True, "maxLength": 20}, "p": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "pl": {"type": "array", "maxItems": 9, "items": {"x-kubernetes-int-or-string": True}},
    "emb": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object", "properties": {"x": {**STR, "maxLength": 40}}}}},
}}


def operators():
    for op in ["==", "!=", "<", "<=", ">", ">="]:
        for left, right in [("self.s", "self.t"), ("self.s", "'abcdefghijklmnopqrstuvwxyz'"), ("self.i", "3"), ("self.i", "self.i"), ("self.n", "1.5"),
                            ("self.when", "self.when"), ("self.bytes", "b'abc'"), ("self.u", "self.u"), ("1", "2"), ("'abcdefghijklmnop'", "'abcdefghijklmnop'"),
                            ("size(self.s)", "3"), ("self.dur", "duration('1h')"), ("self.e", "self.s"), ("self.day", "self.when"),
                            ("self.s.lowerAscii()", "self.t"), ("self.s + self.t", "self.s + self.s")]:
            yield f"{left} {op} {right}"
    for op in ["==", "!="]:
        for left, right in [("self.b", "true"), ("self.l", "self.l"), ("self.l", "['a', 'b']"), ("self.m", "self.m"), ("self.o", "self.o"), ("self.lo", "self.lo"),
                            ("self.ll", "self.ll"), ("self.ios", "3"), ("self.ios", "'abc'"), ("self.ios", "self.ios"), ("self.p", "self.p"), ("self.l[0]", "self.s"),
                            ("self.l[0]", "'abcdefghijklmnopqrstuvwxyz'"), ("self.m['a']", "self.s"), ("self.m.a", "self.s"), ("self.mo['a'].k", "self.s"), ("self.lo[0].k", "self.s"), ("self.lo[0].namespace", "self.s"),
                            ("self.lo[0].__namespace__", "self.s"), ("self.__namespace__", "self.s"), ("self.a__underscores__b", "self.s"), ("self.a__dot__b", "self.s"), ("self.o.a__dash__b", "self.s"), ("self.o.__in__", "self.s"),
                            ("[1, 2]", "[1]"), ("{'a': 1}", "{'a': 2}"), ("self.emb.metadata.name", "self.s"), ("self.emb.kind", "self.s"), ("self.emb.spec.x", "self.s"), ("type(self.s)", "string"), ("self.iosmax", "self.s"),
                            ("self.s.size()", "self.i"), ("self.i + 1", "self.i"), ("self.o.x", "self.o.x"), ("null", "null"), ("oldSelf", "self"), ("oldSelf.s", "self.s"), ("self.bytes", "self.bytes"), ("dyn(self.s)", "dyn(self.s)")]:
            yield f"{left} {op} {right}"
    yield from ["self.i + self.i > 0", "self.n * 2.0 > 1.0", "self.i - 1 > 0", "self.i / 2 > 0", "self.i % 2 == 0", "-self.i > 0", "!self.b", "!(self.i > 3)", "self.b && self.b", "self.b || self.b", "self.b || self.i > 3 && self.i < 4",
                "self.b ? self.i > 3 : self.s == self.t", "self.b ? self.s == self.t : self.i > 3", "(self.b ? self.s : self.t) == self.u", "self.s + self.t == self.u", "self.s + 'abc' == self.u", "self.bytes + b'abc' == self.bytes",
                "self.l + self.l == self.l", "(self.l + ['a']).size() > 3", "(self.li + [1, 2]) == self.li", "self.l[0] in self.l", "self.s in self.l", "self.s in ['a', 'b', 'c']", "self.s in self.m", "self.s in {'a': 1}", "self.i in self.li", "self.i in [1, 2, 3]",
                "self.ll[0][0] == self.s", "self.ml['a'][0] == self.s", "self.l[self.i] == ''", "[self.s, self.t][0] == self.u", "{'a': self.s}['a'] == self.u", "{'a': self.s}.a == self.u", "[self.s, self.u].exists(x, x == self.u)",
                "has(self.s)", "has(self.o.x)", "has(self.m.a)", "has(self.lo[0].k)", "!has(self.s) || self.s == ''", "has(self.emb.metadata.name)", "self.?s.hasValue()", "self.?s == self.?s", "self[?'s'].hasValue()" if False else "self.m[?'s'].hasValue()", "self.l[?0].hasValue()",
                "self.?s.orValue('abc') == self.u", "self.?s.or(optional.of('abc')).hasValue()", "self.?s.value() == self.u", "self.?o.x.hasValue()", "self.?o.?x.orValue('') == self.u", "self.m[?'a'].orValue('abc') == self.u", "optional.of(self.s).value() == self.u", "optional.none().hasValue()", "optional.ofNonZeroValue(self.s).hasValue()",
                "self.?s.optMap(v, v.startsWith('x')).orValue(true)", "self.?s.optMap(v, v + 'abc').orValue('') == self.u", "self.?s.optFlatMap(v, optional.of(v == 'x')).orValue(true)", "self.?l.optMap(v, v.all(x, x == 'abc')).orValue(true)",
                "size(self.?l.orValue([])) > 3", "self.?l.orValue([]).all(x, x == self.s)", "self.?m.orValue({}).all(x, x == self.s)", "[?self.?s, ?self.?t].size() > 1", "{?'a': self.?s}.size() > 0", "self.?s.hasValue() && self.?t.hasValue()"]


def loops():
    for range_ in ["self.l", "self.lo", "self.li", "self.m", "self.ml", "self.ll", "[1, 2, 3]", "{'a': 'b'}", "self.s.split(',')", "self.l.map(x, x + x)", "self.pl", "(self.l + self.l)", "self.ml['a']", "self.?l.orValue([])", "self.l.slice(0, 3)", "self.ll.flatten()", "self.l.sort()"]:
        yield from [f"{range_}.all(x, true)", f"{range_}.exists(x, true)", f"{range_}.exists_one(x, true)", f"{range_}.map(x, x).size() > 0", f"{range_}.filter(x, true).size() > 0", f"{range_}.map(x, true, x).size() > 0",
                    f"{range_}.all(i, v, true)", f"{range_}.exists(i, v, true)", f"{range_}.existsOne(i, v, true)", f"{range_}.exists_one(i, v, true)", f"{range_}.transformList(i, v, v).size() > 0", f"{range_}.transformMap(i, v, v).size() > 0", f"{range_}.transformList(i, v, true, v).size() > 0", f"{range_}.transformMap(i, v, true, v).size() > 0",
                    f"{range_}.map(x, x).map(y, y).size() > 0", f"{range_}.filter(x, true).all(y, true)", f"{range_}.all(x, {range_}.all(y, x == y))", f"{range_}.all(x, x == x)", f"{range_}.map(x, x).all(y, y == y)", f"{range_}.filter(x, true).all(y, y == y)", f"{range_}.all(i, v, v == v)", f"{range_}.all(i, v, i == i)",
                    f"{range_}.transformList(i, v, v).all(y, y == y)", f"{range_}.transformMap(i, v, v).all(y, y == y)"]
    for range_ in ["self.l", "self.m", "{'a': 'b'}", "self.ml"]:
        yield from [f"{range_}.transformMapEntry(i, v, {{v: i}}).size() > 0", f"{range_}.transformMapEntry(i, v, true, {{v: i}}).size() > 0"]
    for range_ in ["self.m", "self.mo", "self.ml"]:
        yield from [f"{range_}.all(k, k == self.s)", f"{range_}.all(k, k.startsWith(self.s))", f"{range_}.all(k, self.s.startsWith(k))", f"{range_}.all(k, k.matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaa'))", f"{range_}.all(k, k.contains('aaaaaaaaaaaaa'))", f"{range_}.all(k, self.s.contains(k))",
                    f"{range_}.all(k, k.split('.').size() > 1)", f"{range_}.all(k, k.size() > 1)", f"{range_}.all(k, k + 'abc' == self.s)", f"{range_}.all(k, k.lowerAscii() == k)", f"{range_}.all(k, {range_}[k] == {range_}[k])", f"{range_}.all(k, k in {range_})", f"{range_}.all(k, k in ['a', 'b'])", f"{range_}.map(k, k).all(x, x == self.s)",
                    f"{range_}.exists(k, k < self.s)", f"{range_}.all(k, k.replace('a', 'b') == '')", f"{range_}.all(k, k.find('[a-z]+') == '')", f"{range_}.all(k, k.substring(1) == self.s)", f"{range_}.map(k, {range_}[k]).size() > 0", f"{range_}.filter(k, k != 'a').map(k, k + 'b').exists(x, x == self.s)", f"{range_}.all(k, v, k == self.s)", f"{range_}.all(k, isURL(k))", f"{range_}.all(k, k.indexOf('a') > 0)",
                    f"{range_}.all(k, k.trim() == self.s)", f"{range_}.map(k, k).join(',') == ''", f"size({range_}.map(k, k)) > 0"]
    yield from ["self.lo.all(x, x.k == self.s)", "self.lo.all(x, self.lo.all(y, x.__namespace__ == y.__namespace__))", "self.lo.all(x, x.v > 3)", "self.lo.map(x, x.k).all(k, k == self.s)", "self.lo.map(x, x.k).exists_one(k, k == self.s)", "self.lo.filter(x, x.k == 'a').all(y, y.k == self.s)", "self.lo.exists(x, has(x.k) && x.k == 'a')",
                "self.ll.all(x, x.all(y, y == self.s))", "self.ll.map(x, x.map(y, y + 'a')).size() > 0", "self.ll.map(x, x.size()).sum() > 3", "self.mo.all(k, self.mo[k].k == self.s)", "self.ml.all(k, self.ml[k].all(x, x == self.s))", "self.lo.map(x, x.v).sum() > 3", "self.lo.all(x, x.k.size() > 3 ? x.v > 3 : x.k == 'abc')",
                "self.lo.all(x, self.l.exists(y, y == x.k))", "self.lo.all(i, x, self.lo.all(j, y, i == j || x.k != y.k))", "self.lo.map(x, x.k).distinct().size() == self.lo.size()", "self.l.map(x, x.lowerAscii()).join(',') == self.u", "self.lo.transformMap(i, x, x.k).all(k, k > 3)", "self.lo.transformList(i, x, x.k).all(k, k == self.s)", "self.m.transformMap(k, v, v + 'abc').all(k, v, v == self.s)",
                "self.l.map(x, {'a': x}).all(y, y.a == self.s)", "self.l.map(x, [x, x]).all(y, y.all(z, z == self.s))", "self.l.filter(x, x.startsWith('a')).map(x, x.size()).sum() > 0", "self.l.all(x, x in self.l)", "self.l.all(x, x in self.m)", "self.l.all(x, self.m[x] == 'abc')", "self.m.all(k, self.l.exists(x, x == k))", "cel.bind(x, self.s, x == x)" if False else "self.l.all(x, x.matches(self.s))",
                "self.l.map(x, self.m[x]).all(y, y == self.s)", "self.l.map(x, x == 'a' ? self.s : self.t).all(y, y == self.u)", "self.lo.filter(x, x.v > 3).map(x, x.k).all(y, y == self.s)", "self.lo.exists_one(x, x.k == self.s)", "self.l.exists(x, x == 'abc') && self.l.exists(x, x == 'abc')"]


def functions():
    for target in ["self.s", "self.u", "self.l[0]", "'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz'", "(self.s + self.t)", "self.s.split(',')[0]", "string(self.i)"]:
        yield from [f"{target}.startsWith('abcdefghijklmnopqrst')", f"{target}.startsWith(self.t)", f"{target}.endsWith('abc')", f"{target}.endsWith(self.t)", f"{target}.contains('abcdefghijklm')", f"{target}.contains(self.t)", f"{target}.matches('^[a-z]+[0-9]*$')", f"matches({target}, '^[a-z]+[0-9]*$')", f"{target}.size() > 3", f"size({target}) > 3",
                    f"{target}.charAt(1) == self.t", f"{target}.indexOf('a') > 0", f"{target}.indexOf(self.t) > 0", f"{target}.indexOf('a', 1) > 0", f"{target}.lastIndexOf('a') > 0", f"{target}.lastIndexOf(self.t) > 0", f"{target}.lastIndexOf('a', 1) > 0", f"{target}.lowerAscii() == self.u", f"{target}.upperAscii() == self.u",
                    f"{target}.replace('a', 'b') == self.u", f"{target}.replace('a', self.t) == self.u", f"{target}.replace(self.t, 'bcd') == self.u", f"{target}.replace('abc', 'bcdefg', 3) == self.u", f"{target}.split(',').size() > 0", f"{target}.split(',') == self.l", f"{target}.split(self.t).size() > 0", f"{target}.split(',', 3).size() > 0", f"{target}.split('').size() > 0", f"{target}.split(',').all(x, x == self.s)",
                    f"{target}.substring(1) == self.u", f"{target}.substring(1, 3) == self.u", f"{target}.trim() == self.u", f"{target}.find('[a-z]+') == self.u", f"{target}.find(self.t) == self.u", f"{target}.findAll('[a-z]+').size() > 0", f"{target}.findAll('[a-z]+', 3).size() > 0", f"{target}.findAll('[a-z]+').all(x, x == self.s)",
                    f"strings.quote({target}) == self.u", f"{target}.format([1]) == self.u" if target.startswith("'") else f"'%s'.format([{target}]) == self.u", f"string({target}) == self.u", f"bytes({target}) == self.bytes", f"int({target}) > 0", f"double({target}) > 0.0", f"uint({target}) > 0u", f"bool({target})", f"timestamp({target}) == self.when", f"duration({target}) == self.dur", f"dyn({target}) == self.u", f"type({target}) == string",
                    f"isURL({target})", f"url({target}).getHost() == self.u", f"url({target}).getScheme() == self.u", f"url({target}).getHostname() == self.u", f"url({target}).getPort() == self.u", f"url({target}).getEscapedPath() == self.u", f"url({target}).getQuery() == {{}}", f"url({target}) == url({target})", f"url({target}).getQuery().all(k, k == 'a')",
                    f"isQuantity({target})", f"quantity({target}).isInteger()", f"quantity({target}).asInteger() > 0", f"quantity({target}).asApproximateFloat() > 0.0", f"quantity({target}).sign() > 0", f"quantity({target}).isGreaterThan(quantity('1'))", f"quantity({target}).isLessThan(quantity('1'))", f"quantity({target}).compareTo(quantity('1')) > 0", f"quantity({target}).add(quantity('1')) == quantity({target})", f"quantity({target}).add(1) == quantity('1')", f"quantity({target}).sub(quantity('1')) == quantity('1')", f"quantity({target}).sub(1) == quantity('1')", f"quantity({target}) == quantity('1')",
                    f"isIP({target})", f"ip({target}).family() == 4", f"ip.isCanonical({target})", f"ip({target}).isUnspecified()", f"ip({target}).isLoopback()", f"ip({target}).isLinkLocalMulticast()", f"ip({target}).isLinkLocalUnicast()", f"ip({target}).isGlobalUnicast()", f"string(ip({target})) == self.u", f"ip({target}) == ip('1.2.3.4')", f"isIP({target}) || isCIDR({target})",
                    f"isCIDR({target})", f"cidr({target}).containsIP('1.2.3.4')", f"cidr({target}).containsIP({target})", f"cidr({target}).containsIP(ip('1.2.3.4'))", f"cidr({target}).containsCIDR('1.2.3.0/24')", f"cidr({target}).containsCIDR({target})", f"cidr({target}).containsCIDR(cidr('1.2.3.0/24'))", f"cidr({target}).ip() == ip('1.2.3.4')", f"cidr({target}).masked() == cidr('1.2.3.0/24')", f"cidr({target}).prefixLength() > 0", f"string(cidr({target})) == self.u",
                    f"format.named({target}).hasValue()", f"format.dns1123Label().validate({target}).hasValue()", f"format.dns1123Label().validate({target}) == optional.none()", f"format.dns1123Label().validate({target}).value().size() > 0", f"format.uri().validate({target}).hasValue()", f"format.qualifiedName().validate({target}).orValue([]).all(x, x == 'a')",
                    f"isSemver({target})", f"isSemver({target}, true)", f"semver({target}).major() > 0", f"semver({target}, true).minor() > 0", f"semver({target}).patch() > 0", f"semver({target}).isGreaterThan(semver('1.0.0'))", f"semver({target}).isLessThan(semver('1.0.0'))", f"semver({target}).compareTo(semver('1.0.0')) > 0", f"semver({target}) == semver('1.0.0')", f"semver({target}) == semver({target})", f"jsonpatch.escapeKey({target}) == self.u"]
    for name in ["dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix", "labelValue", "uri", "uuid", "byte", "date", "datetime"]:
        yield f"!format.{name}().validate(self.s).hasValue()"
        yield f"!format.named('{name}').value().validate(self.s).hasValue()"
    for target in ["self.l", "self.li", "['a', 'b', 'c']", "self.ll", "self.l.map(x, x + 'abc')", "(self.l + self.l)", "self.s.split(',')", "self.lo", "self.pl", "self.l.sort()"]:
        yield from [f"{target}.size() > 0", f"size({target}) > 0", f"{target}.isSorted()", f"{target}.min() == {target}.max()", f"{target}.sum() == 0", f"{target}.indexOf({target}[0]) > 0", f"{target}.lastIndexOf({target}[0]) > 0", f"{target}.slice(0, 2).size() > 0", f"{target}.slice(0, 2).all(x, x == x)", f"{target}.distinct().size() > 0", f"{target}.reverse().size() > 0", f"{target}.reverse() == {target}", f"{target}.flatten().size() > 0",
                    f"{target}.sort().size() > 0", f"{target}.sort() == {target}", f"{target}.sortBy(x, x).size() > 0", f"{target}.first().hasValue()", f"{target}.last().hasValue()", f"{target}.first().value() == {target}[0]", f"{target}.join() == self.u", f"{target}.join(',') == self.u", f"{target}.join(self.t) == self.u", f"{target}.join(',').size() > 2", f"{target}.min() == self.s", f"{target}.max() == self.s",
                    f"sets.contains({target}, {target})", f"sets.equivalent({target}, {target})", f"sets.intersects({target}, {target})", f"sets.contains({target}, ['a', 'b'])", f"sets.contains(['a', 'b'], {target})", f"sets.equivalent({target}, ['a'])", f"sets.intersects({target}, ['a'])", f"{target}[0] == {target}[1]", f"{target} == {target}", f"{target}.flatten(2).size() > 0"]
    yield from ["lists.range(5).size() > 0", "lists.range(self.i).all(x, x > 0)", "self.m.size() > 0", "size(self.m) > 0", "size(self.o) > 0" if False else "size(self.mo) > 0", "self.bytes.size() > 0", "size(self.bytes) > 3", "string(self.i) == self.u", "string(self.n) == self.u", "string(self.b) == self.u", "string(self.bytes) == self.u", "string(self.when) == self.u", "string(self.dur) == self.u",
                "int(self.n) > 0", "int(self.when) > 0", "double(self.i) > 0.0", "uint(self.i) > 0u", "int(self.i) > 0", "timestamp(self.i) == self.when", "timestamp('2020-01-01T00:00:00Z') < self.when", "duration('1h') < self.dur", "self.when + self.dur == self.when", "self.when - self.when == self.dur", "self.dur + self.dur == self.dur", "bytes(self.t) == self.bytes", "'%s %d'.format([self.s, self.i]) == self.u", "self.s.format([self.t, self.i]) == self.u"]
    for name in ["getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes", "getSeconds", "getMilliseconds"]:
        yield f"self.when.{name}() > 0"
        yield f"self.when.{name}('UTC') > 0"
    for name in ["getHours", "getMinutes", "getSeconds", "getMilliseconds"]:
        yield f"self.dur.{name}() > 0"
    yield from ["math.abs(self.i) > 0", "math.greatest(self.i, 3) > 0", "type(self.i) == int", "self.i == 3 ? true : self.i == 4", "int(self.ios) > 3", "type(self.ios) == string ? self.ios.matches('^[0-9]+%$') : self.ios >= 0", "self.ios.matches('^a')", "self.ios == '10%'", "string(self.ios) == 'abc'", "self.ios > 3", "self.iosmax.contains('abc')", "self.ios.size() > 3", "string(self.ios).matches('^a')", "quantity(string(self.ios)).isGreaterThan(quantity('1'))", "isQuantity(string(self.ios))"]


def sizes():
    """Sizes of results, and the functions that a second look at the others asked for."""
    yield from ["sign(quantity(self.s)) > 0", "self.s.split(',', 3).all(x, true)", "self.s.split(',', self.i).all(x, true)", "self.s.split(',', -1).all(x, true)", "self.s.findAll('[a-z]+', 3).all(x, true)", "self.s.findAll('[a-z]+', self.i).all(x, true)", "self.s.substring(1, 3).split('').all(x, true)", "self.s.charAt(1).split('').all(x, true)",
                "self.ll.flatten().all(x, true)", "self.l.flatten(2).all(x, true)", "self.l.flatten(self.i).size() > 0", "self.l.flatten(self.i).all(x, true)", "self.l.slice(1, 3).size() > 0", "self.l.slice(2, self.i).size() > 0", "self.l.slice(self.i, 5).size() > 0", "self.l.slice(self.i, self.i).all(x, true)", "self.l.slice(5, 30).all(x, true)", "self.l.slice(-1, 3).size() > 0",
                "lists.range(7).all(x, x > 0)", "lists.range(self.i).size() > 0", "lists.range(size(self.l)).size() > 0", "self.li.distinct().all(x, true)", "self.l.sortBy(x, size(x)).all(x, true)", "self.lo.sortBy(x, x.v).map(x, x.k).size() > 0", "self.lo.sortBy(x, x.k)[0].k == self.s", "self.l.map(x, self.when).sort().size() > 0", "self.l.map(x, self.bytes).sort().size() > 0", "self.l.map(x, self.bytes).sort().all(x, true)", "self.l.map(x, self.dur).sort().size() > 0", "self.l.map(x, self.b).sort().size() > 0", "self.l.map(x, self.n).sort().size() > 0",
                "self.l.map(x, self.when).isSorted()", "self.l.map(x, self.when).max() == self.when", "[self.when, self.when].max() == self.when", "[self.dur, self.dur].sum() == self.dur", "[self.i, 3].max() == 3", "[self.s, self.t].max() == self.u", "[self.s, self.t].join(',') == self.u", "[self.s, self.t].indexOf(self.s) > 0", "[1, 2, 3].isSorted()", "[1, 2, 3].sum() > 3", "[1, 2, 3].indexOf(3) > 0",
                "{'a': self.s, 'b': self.u}['a'] == self.u", "{'a': self.s, 'b': self.t}.map(k, k)[0] == self.s", "{self.s: 1}.all(k, k == self.u)", "{self.s: 1}.map(k, k)[0] == self.u", "(self.l + ['a'])[0] == self.u", "(['a'] + ['bcdefghijklmnopqr'])[0] == self.u", "(self.l + self.l.map(x, x + 'abc'))[0] == self.u", "(self.b ? self.l : ['abc'])[0] == self.u", "(self.b ? ['abc'] : ['abcdefghijklmnopq'])[0] == self.u", "self.l.filter(x, x == 'a')[0] == self.u", "self.l.map(x, x)[0] == self.u", "self.l.map(x, x == 'a', x + 'abc')[0] == self.u", "self.l.transformList(i, v, v + 'abc')[0] == self.u", "self.l.transformMap(i, v, v + 'abc')[0] == self.u", "self.m.transformMap(k, v, v + 'abc')['a'] == self.u", "self.m.transformMap(k, v, v + 'abc').a == self.u", "self.ll.map(x, x)[0][0] == self.u", "self.ll.map(x, x.map(y, y + 'abc'))[0][0] == self.u", "[[self.s]][0][0] == self.u", "[self.l][0][0] == self.u", "[self.lo][0][0].k == self.u", "{'a': {'b': self.s}}['a']['b'] == self.u", "{'a': {'b': self.s}}.a.b == self.u", "[self.o][0].x == self.u", "[self.o, self.o][0].s == self.u", "self.l.map(x, self.o)[0].x == self.u", "self.l.map(x, self.o).all(y, y.x == self.u)", "self.l.map(x, self.o).all(y, y.s == self.u)", "[self.o].exists(y, y.s == self.u)", "[self.o].exists(y, y.l.exists(z, z == self.u))",
                "(self.b ? self.o : self.o).x == self.u", "(self.b ? self.l : self.l).all(x, x == self.u)", "(self.b ? self.l : []).all(x, x == self.u)", "(self.b ? self.lo : self.lo).all(x, x.k == self.u)", "(self.b ? self.lo[0].k : self.s) == self.u", "(self.b ? self.i : self.i) == 3", "(self.b ? null : 'abc') == self.u" if False else "dyn(self.l).all(x, x == self.u)", "dyn(self.o).x == self.u", "dyn(self.o).s == self.u", "dyn(self.o).?x.orValue('') == self.u", "dyn(self.s).size() > 3", "dyn(self.s) + 'abc' == self.u", "dyn(self.i) + 3 > 4", "dyn(self.s) > 'abc'", "self.ios.size() > 3", "self.ios + 'abc' == self.u", "self.ios in self.l", "self.ios.startsWith('abc')", "self.ios.contains('abc')", "self.ios.split(',').size() > 3", "self.ios.indexOf('a') > 3", "self.ios.lowerAscii() == self.u", "self.ios.isSorted()", "self.ios.reverse() == self.u", "self.ios[0] == self.u", "self.ios['a'] == self.u", "self.ios.a == self.u", "self.ios.all(x, x == self.u)", "url(self.ios).getHost() == self.u", "bytes(self.ios) == self.bytes",
                "format.dns1123Label() == format.uri()", "format.named(self.s) == format.named(self.t)", "url(self.s) == url(self.t)", "url(self.s) != url(self.t)", "[url(self.s)] == [url(self.t)]", "quantity(self.s) in [quantity(self.t)]", "ip(self.s) in [ip(self.t)]", "self.s in self.l.map(x, x)", "self.s in {self.s: self.t}", "self.i in self.l.map(x, size(x))", "self.?s.or(self.?t).value() == self.u", "(self.?s).orValue(self.t) == self.t", "self.?i.orValue(3) == 3", "self.?i.orValue(3) > self.i", "optional.of(self.i).value() == 3", "optional.of(self.i) == optional.of(3)", "self.?m['a'].orValue('') == self.t", "self.?m[?'a'].orValue('') == self.t", "self.?l[0].orValue('') == self.t", "self.?l[?0].orValue('') == self.t", "self.?o.?y.optMap(v, v + 1).orValue(3) == 3", "self.?s.optMap(v, v).optMap(v, size(v)).orValue(0) > 3", "self.?o.optMap(v, v.x == self.s).orValue(true)", "self.?o.optFlatMap(v, v.?x).orValue('') == self.t", "self.?lo.optMap(v, v.size()).orValue(0) > 3", "self.l.exists(x, self.?t.optMap(v, v == x).orValue(true))",
                "self.s == '\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc\\u00e4\\u00f6\\u00fc'", "self.s == 'äöüäöüäöüäöü'", "self.s.startsWith('äöüäöüäöüäöü')", "self.bytes == b'äöüäöüäöüäöü'", "bytes('äöüäöüäöü') == b'äöüäöüäöüäöü'", "string(b'abcdefghijklmnopqrs') == self.t", "string(self.bytes) == self.t", "self.s.matches('')", "self.s.contains('')", "''.contains(self.s)", "self.s.replace('', 'b') == self.u", "self.s.replace('', self.t) == self.u", "self.s.replace('abc', '') == self.u", "'abc'.replace('a', 'bcdefghijklm') == self.u", "'abcabcabcabcabcabc'.replace('abc', 'bcdefghijklm').size() > 3", "strings.quote('abcabcabcabcabcabc') == self.u", "'abcdefghijklmn'.split('').size() > 1", "'abcdefghijklmn'.split('')[0] == self.u", "'abcdefghijkl'.lowerAscii() == self.u", "'abcdefghijkl' + 'abcdefghijkl' == self.u", "size('abcdefghijkl' + self.s) > 3", "b'abcdefghijkl' + b'abcdefghijkl' == self.bytes", "('abcdefghijkl' + self.s).startsWith('abcdefghijkl' + self.t)", "self.s.startsWith(self.s.split(',')[0])", "self.s.startsWith(self.l[0])", "self.s.startsWith(string(self.i))", "self.s.matches(self.t)", "self.t.matches('^' + self.t + '$')"]
    yield from ["self.ll.all(x, x.all(i, v, i == i))", "self.ml.all(k, v, v.all(i, w, i == i))", "self.lo.all(x, x.k == x.__namespace__)", "self.lo.all(x, x.__namespace__.contains(x.k))", "self.o == null", "self.o.x == null", "self.all(1, v, true)", "self.l.all(i, 2, true)", "self.l.all(i.x, v, true)", "self.l.all(i, i, true)", "self.l.all(1, true)", "self.?s.optMap(1, true)", "self.?s.optMap(v)", "self.l.sortBy(1, 2)", "self.l.sortBy(x)", "self.l.transformList(i, v)", "self.l.transformList(i, v, 3 + 'a', 1) == []", "self.l.transformList(i, v, 3, 1) == []",
                "self.l.transformMapEntry(i, v, v).size() > 0", "self.l.all(i, v, w, true)", "self.l.exists(x, x == 'a' || y == 'b')", "self.l.all(i, v, w == 'a')", "self.?s.optMap(v, w == 'a').orValue(true)", "[1, 'a'].size() > 0", "'%s'.format([]) == ''", "'%s %s'.format(['a']) == ''", "'%d'.format(['a']) == ''", "'%s'.format(['a', 1]) == ''", "'%.3f'.format(['a']) == ''", "'%y'.format(['a']) == ''", "'%'.format(['a']) == ''", "bool('yes')", "int('1.5') > 1", "uint('-1') > 1u", "double('x') > 1.0", "1 / 0 == 0"]
    for n in [0, 1, 9, 10, 11, 19, 20, 21, 99]:
        yield from [f"self.s.matches('{'a' * n}')", f"self.s.startsWith('{'a' * n}')", f"self.s.contains('{'a' * n}')", f"self.s == '{'a' * n}'", f"'{'a' * n}'.matches(self.t)", f"isIP('{'1' * n}')", f"strings.quote('{'a' * n}') == self.u"]


def elsewhere():
    """Rules of fields that are no objects: names and the rules of their values."""
    for at in ["s", "u", "e", "when", "day", "dur", "bytes", "i", "n", "b", "ios"]:
        yield from [(at, rule) for rule in ["self == self", "[self].exists(x, x == x)", "[1].exists(x, x == x)", "type(self) == string", "{'a': self}['a'] == self", "{'a': self}.a == self", "[self][0] == self", "has({'a': self}.a)", "[[self]].all(x, x.all(y, y == self))", "optional.of(self).optMap(v, v == self).orValue(true)"]]
    for at in ["s", "u", "e", "iosmax"]:
        yield from [(at, rule) for rule in ["self.matches('^[a-z]+$')", "self.startsWith('abc')", "self.split('.').all(x, x.size() < 64 && x.matches('^[a-z0-9]+$'))", "self.split('.').all(x, x == self)", "self.contains(self)", "self.lowerAscii() == self", "self.size() > 3", "isURL(self) && url(self).getScheme() in ['http', 'https']", "quantity(self).isGreaterThan(quantity('0'))", "self in ['a', 'b']", "self == 'a' || self == 'b'", "duration(self) > duration('1s')", "int(self) > 3", "self.find('^[a-z]') != ''", "isCIDR(self) && cidr(self).ip().family() == 4", "!format.dns1123Subdomain().validate(self).hasValue()"]]
    for at in ["l", "li", "lo", "ll", "pl"]:
        yield from [(at, rule) for rule in ["self == self", "self.all(x, x == x)", "self.all(x, self.exists_one(y, x == y))", "self.all(i, x, self.all(j, y, i == j || x != y))", "self.map(x, x).size() == self.size()", "self.map(x, x).all(y, y == y)", "self[0] == self[1]", "[self][0] == self", "[1].exists(x, x == x)", "self.all(x, x in self)", "self.filter(x, x == x).all(y, y == y)", "self.distinct().size() == self.size()", "self.size() > 0 ? self[0] == self[0] : true", "[self].all(x, x.all(y, y == y))"]]
    for at in ["m", "mo", "ml"]:
        yield from [(at, rule) for rule in ["self == self", "self.all(k, k == k)", "self.all(k, self[k] == self[k])", "self.all(k, v, v == v)", "self.exists(k, k.startsWith('abc'))", "self.map(k, self[k]).all(y, y == y)", "self.map(k, k).all(y, y == y)", "'a' in self", "has(self.a)", "self.a == self.a", "self['a'] == self['a']", "[1].exists(x, x == x)", "self.size() > 3", "self.all(k, k.matches('^[a-z]+$') && k.size() < 64)", "self.transformMap(k, v, v).all(k, v, v == v)", "self.?a.optMap(v, v == v).orValue(true)"]]


CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "costs.rules.example.com"},
       "spec": {"group": "rules.example.com", "scope": "Cluster", "names": {"plural": "costs", "kind": "Cost"}, "versions": [{"name": "v1", "served": True, "storage": True}]}}
FACTOR = re.compile(r"rule cost exceeds budget by factor of (more than )?([0-9.]+)x")


def ask(server, at, rule, items):
    """The factor by which the rule exceeds its budget, as text; another refusal; or None."""
    rules = {"x-kubernetes-validations": [{"rule": rule}]}
    inner = {"type": "object", "properties": {at: {**SELF["properties"][at], **rules}}} if at else {**SELF, **rules}
    doc = {"type": "object", "properties": {"a": {"type": "array", "maxItems": items, "items": inner}}}
    crd = json.loads(json.dumps(CRD))
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": doc}
    code, answer = server.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All", crd)
    if code == 201:
        return None
    found = FACTOR.search(answer["message"])
    return (found[1] or "") + found[2] + "x" if found else answer["message"]


def record(server, at, rule):
    line = {"at": at, "rule": rule} if at else {"rule": rule}
    items, low, high = 1 << 12, 1, None
    while True:
        factor = ask(server, at, rule, items)
        if factor is not None and not factor.endswith("x"):
            causes = factor.split("Invalid value: ")[-1].split("compilation failed: ERROR: ")[-1]
            why = causes.split("\n")[0].split("}: program instantiation failed: ")[-1]
            return {**line, "refused": re.sub(r"selfType[0-9]+", "selfType", why)}
        if factor is None:
            low = items
            items = items * 4 if high is None else (low + high) // 2
            if items == low or items > 1 << 40:
                return {**line, "items": items, "factor": None}
        elif factor.startswith("more") or float(factor[:-1]) >= 1.5:
            if items == 1:
                return {**line, "items": 1, "factor": factor}
            high = items
            items = max(1, (low + high) // 2 if factor.startswith("more") else int(items / float(factor[:-1]) * 1.2))
            if not low < items < high:
                items = max(1, (low + high) // 2)
                if items == low and low != 1:
                    return {**line, "items": high, "factor": factor}
        else:
            return {**line, "items": items, "factor": factor}


def main():
    server = Server(sys.argv[1])
    rules = [("", rule) for rule in [*operators(), *loops(), *functions(), *sizes()]]
    rules = list(dict.fromkeys([*rules, *elsewhere()]))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda rule: record(server, *rule), rules)
        print(json.dumps({"self": SELF}))
        for line in found:
            print(json.dumps(line))


if __name__ == "__main__":
    main()
