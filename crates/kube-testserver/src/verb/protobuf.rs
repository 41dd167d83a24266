//! Kubernetes' protobuf encoding, as far as `kubectl create` uses it for simple kinds. Everything else is JSON.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use Shape::{Bool, BytesMap, Ignored, Message, Messages, Text, TextMap, Texts};

/// What every protobuf body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// How one field is written and what it becomes in JSON.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Text,
    Texts,
    Bool,
    TextMap,
    /// Values are bytes, base64 in JSON.
    BytesMap,
    Message(&'static [Field]),
    Messages(&'static [Field]),
    /// Set by the server anyway.
    Ignored,
}

/// Number, JSON name and shape.
type Field = (u64, &'static str, Shape);

const ENVELOPE: &[Field] = &[
    (1, "typeMeta", Message(TYPE)),
    (2, "raw", Ignored),
    (3, "contentEncoding", Ignored),
    (4, "contentType", Ignored),
];
const TYPE: &[Field] = &[(1, "apiVersion", Text), (2, "kind", Text)];
const OWNER: &[Field] = &[
    (1, "kind", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "controller", Bool),
    (7, "blockOwnerDeletion", Bool),
];
const METADATA: &[Field] = &[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (4, "selfLink", Ignored),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (7, "generation", Ignored),
    (8, "creationTimestamp", Ignored),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (13, "ownerReferences", Messages(OWNER)),
    (14, "finalizers", Texts),
];
const ACCESS: &[Field] = &[
    (
        1,
        "resourceAttributes",
        Message(&[
            (1, "namespace", Text),
            (2, "verb", Text),
            (3, "group", Text),
            (4, "version", Text),
            (5, "resource", Text),
            (6, "subresource", Text),
            (7, "name", Text),
        ]),
    ),
    (2, "nonResourceAttributes", Message(&[(1, "path", Text), (2, "verb", Text)])),
];
const LOCAL_REFERENCE: &[Field] = &[(1, "name", Text)];

fn fields(api_version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match (api_version, kind) {
        ("v1", "ConfigMap") => &[
            (1, "metadata", Message(METADATA)),
            (2, "data", TextMap),
            (3, "binaryData", BytesMap),
            (4, "immutable", Bool),
        ],
        ("v1", "Secret") => &[
            (1, "metadata", Message(METADATA)),
            (2, "data", BytesMap),
            (3, "type", Text),
            (4, "stringData", TextMap),
            (5, "immutable", Bool),
        ],
        ("v1", "Namespace") => &[
            (1, "metadata", Message(METADATA)),
            (2, "spec", Message(&[(1, "finalizers", Texts)])),
            (3, "status", Ignored),
        ],
        ("v1", "ServiceAccount") => &[
            (1, "metadata", Message(METADATA)),
            (3, "imagePullSecrets", Messages(LOCAL_REFERENCE)),
            (4, "automountServiceAccountToken", Bool),
        ],
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview") => {
            &[(1, "metadata", Message(METADATA)), (2, "spec", Message(ACCESS)), (3, "status", Ignored)]
        }
        ("authorization.k8s.io/v1", "SelfSubjectRulesReview") => &[
            (1, "metadata", Message(METADATA)),
            (2, "spec", Message(&[(1, "namespace", Text)])),
            (3, "status", Ignored),
        ],
        ("authentication.k8s.io/v1", "SelfSubjectReview") => {
            &[(1, "metadata", Message(METADATA)), (2, "status", Ignored)]
        }
        _ => return None,
    })
}

/// Whether a body claims to be of this encoding.
pub(super) fn is_marked(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Decodes an object of a kind from the table above. The error says what cannot be read.
pub(super) fn decode(body: &[u8]) -> Result<Value, String> {
    let body =
        body.strip_prefix(MAGIC).ok_or("the body does not begin with the protobuf marker of Kubernetes")?;
    let envelope = message(body, ENVELOPE)?;
    let text = |key: &str| envelope["typeMeta"][key].as_str().unwrap_or_default().to_string();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let fields = fields(&api_version, &kind).ok_or_else(|| {
        format!("{kind} of {api_version} is not read as protobuf, send it as application/json")
    })?;
    let raw = Reader(body).find(|field| !matches!(field, Ok((number, _)) if *number != 2)).transpose()?;
    let mut object = match raw {
        Some((_, Wire::Bytes(raw))) => message(raw, fields)?,
        _ => json!({}),
    };
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn message(bytes: &[u8], fields: &[Field]) -> Result<Value, String> {
    let mut out = Map::new();
    for field in Reader(bytes) {
        let (number, wire) = field?;
        let Some((_, name, shape)) = fields.iter().find(|(n, ..)| *n == number) else {
            return Err(format!(
                "field {number} is not read as protobuf, send the object as application/json"
            ));
        };
        let wrong = || format!("{name} is not encoded as it should be");
        match (shape, wire) {
            (Ignored, _) => {}
            (Bool, Wire::Number(value)) => drop(out.insert((*name).into(), (value != 0).into())),
            (Text, Wire::Bytes(bytes)) => drop(out.insert((*name).into(), text(bytes)?.into())),
            (Texts, Wire::Bytes(bytes)) => push(&mut out, name, text(bytes)?.into()),
            (Message(fields), Wire::Bytes(bytes)) => {
                drop(out.insert((*name).into(), message(bytes, fields)?))
            }
            (Messages(fields), Wire::Bytes(bytes)) => push(&mut out, name, message(bytes, fields)?),
            (TextMap | BytesMap, Wire::Bytes(bytes)) => {
                let (key, value) = entry(bytes)?;
                let value =
                    if matches!(shape, TextMap) { text(value)? } else { BASE64_STANDARD.encode(value) };
                let map = out.entry(*name).or_insert_with(|| json!({}));
                map.as_object_mut().ok_or_else(wrong)?.insert(key, value.into());
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Value::Object(out))
}

/// Appends to the list of a repeated field.
fn push(out: &mut Map<String, Value>, name: &str, item: Value) {
    if let Value::Array(list) = out.entry(name).or_insert_with(|| json!([])) {
        list.push(item);
    }
}

/// Key and value of one entry of a map.
fn entry(bytes: &[u8]) -> Result<(String, &[u8]), String> {
    let (mut key, mut value) = (String::new(), &[][..]);
    for field in Reader(bytes) {
        match field? {
            (1, Wire::Bytes(bytes)) => key = text(bytes)?,
            (2, Wire::Bytes(bytes)) => value = bytes,
            (number, _) => return Err(format!("field {number} in an entry of a map")),
        }
    }
    Ok((key, value))
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
}

/// The value of a field before its shape is known.
#[derive(Debug)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, one after the other; nothing comes after an error.
struct Reader<'a>(&'a [u8]);

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u64, Wire<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or_else(|| "the message ends early or holds what no message may".into()))
    }
}

impl<'a> Reader<'a> {
    fn field(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.number()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.number()?),
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                let (bytes, rest) = self.0.split_at_checked(length)?;
                self.0 = rest;
                Wire::Bytes(bytes)
            }
            _ => return None,
        };
        Some((tag >> 3, wire))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(content.len()).unwrap()], content].concat()
    }

    fn envelope(kind: &str, raw: &[u8]) -> Vec<u8> {
        let kind = [bytes(1, b"v1"), bytes(2, kind.as_bytes())].concat();
        [MAGIC, &bytes(1, &kind), &bytes(2, raw), &bytes(3, b""), &bytes(4, b"")].concat()
    }

    #[test]
    fn simple_kinds_are_read() {
        let pair = |key: &[u8], value: &[u8]| [bytes(1, key), bytes(2, value)].concat();
        let metadata =
            [bytes(1, b"a"), bytes(8, b""), bytes(11, &pair(b"l", b"v")), bytes(14, b"x/y")].concat();
        let secret =
            [bytes(1, &metadata), bytes(2, &pair(b"k", b"\xff")), bytes(3, b"Opaque"), vec![5 << 3, 1]]
                .concat();
        let expected = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "immutable": true,
            "data": {"k": "/w=="}, "metadata": {"name": "a", "labels": {"l": "v"}, "finalizers": ["x/y"]}});
        assert_eq!(decode(&envelope("Secret", &secret)), Ok(expected));
    }

    #[test]
    fn what_is_not_read_is_said() {
        assert!(decode(b"{}").unwrap_err().contains("marker"));
        assert!(decode(&envelope("Pod", b"")).unwrap_err().contains("Pod of v1 is not read"));
        assert!(decode(&envelope("ConfigMap", &bytes(9, b""))).unwrap_err().contains("field 9"));
        assert!(decode(&envelope("ConfigMap", &[10, 50])).unwrap_err().contains("ends early"));
        assert!(decode(&envelope("ConfigMap", &bytes(4, b"x"))).unwrap_err().contains("immutable"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(raw in prop::collection::vec(any::<u8>(), 0..60)) {
            drop(decode(&raw));
            drop(decode(&[MAGIC, &raw].concat()));
            drop(decode(&envelope("ConfigMap", &raw)));
        }
    }
}
