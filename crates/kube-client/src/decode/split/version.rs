//! [`ObjectVersion`]: which object a text is, and which of its versions.

use std::ops::Range;

/// What identifies an object and one of its versions, as the metadata of its JSON say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectVersion<'a> {
    /// `None` for objects without a namespace.
    pub namespace: Option<&'a str>,
    /// The name within the namespace.
    pub name: &'a str,
    /// Distinguishes it from a former object of this name. Servers always send one.
    pub uid: Option<&'a str>,
    /// The version. Never empty.
    pub resource_version: &'a str,
}

/// The fields that [`ObjectVersion`] consists of, in its order.
const NAMES: [&[u8]; 4] = [b"namespace", b"name", b"uid", b"resourceVersion"];

/// Where the values of [`NAMES`] are in the JSON of an object; empty for what it does not have.
///
/// Only plain texts are found. An object with an escape in one of its values, or with another type, has no version here: it is decoded, and
/// that finds the error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct VersionLocation([Range<usize>; 4]);

impl VersionLocation {
    /// `fields` has the offsets around the fields of the metadata: those of its brackets and commas.
    pub(super) fn find(json: &[u8], fields: &[usize]) -> Self {
        let mut location = Self::default();
        for between in fields.windows(2) {
            let field = between[0] + 1..between[1];
            let Some((name, name_end)) = text_in(json, &field) else { continue };
            let Some(index) = NAMES.iter().position(|known| *known == &json[name.clone()]) else { continue };
            match value_in(json, name_end..field.end) {
                Some(value) => location.0[index] = value,
                None => return Self::default(),
            }
        }
        location
    }

    /// The version in the same JSON; `None` without a name or a resourceVersion.
    pub(super) fn of<'a>(&self, json: &'a [u8]) -> Option<ObjectVersion<'a>> {
        let text = |range: &Range<usize>| {
            std::str::from_utf8(&json[range.clone()]).ok().filter(|text| !text.is_empty())
        };
        let [namespace, name, uid, resource_version] = self.0.each_ref().map(text);
        Some(ObjectVersion { namespace, name: name?, uid, resource_version: resource_version? })
    }
}

/// The text between the quotes of the string that begins this part, and the offset behind it. `None` if it is no string, or has escapes.
fn text_in(json: &[u8], part: &Range<usize>) -> Option<(Range<usize>, usize)> {
    let start = skip_space(json, part) + 1;
    let length = json.get(start..part.end)?.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    let end = start + length;
    (json[start - 1] == b'"' && json[end] == b'"').then_some((start..end, end + 1))
}

/// The value in a part that begins with the colon: a text, or an empty range for `null`.
fn value_in(json: &[u8], part: Range<usize>) -> Option<Range<usize>> {
    let colon = skip_space(json, &part);
    let value = colon + 1..part.end;
    if json.get(value.clone())?.trim_ascii() == b"null" {
        return Some(0..0);
    }
    let (text, end) = text_in(json, &value)?;
    (json[colon] == b':' && skip_space(json, &(end..part.end)) == part.end).then_some(text)
}

/// The offset of the first byte that is no space, or the end of the part.
fn skip_space(json: &[u8], part: &Range<usize>) -> usize {
    json[part.clone()]
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .map_or(part.end, |at| part.start + at)
}
