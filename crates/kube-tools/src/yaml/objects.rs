//! [`Objects`]: objects of any kinds, with the places they were read from.

use std::collections::{HashMap, hash_map};
use std::io::Read;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use kube_client::config::decode_text;
use kube_core::DynamicObject;
use serde::Serialize;

use super::document::add_objects;
use super::error::ReadError;
use super::files::{files_of, unreadable};
use super::id::ObjectId;
use super::source::Source;
use super::text::documents;

/// Objects of any kinds, from YAML, JSON or the program, each at most once.
///
/// A text may have several documents, and lists (`kind: List`, `ConfigMapList`, and whatever has `items`), which stand for their items.
/// YAML is read as kubectl reads it: of version 1.1, where `yes` is a boolean and `0644` is octal, but with an error for a key that is
/// twice in one mapping; the book lists what else differs. Every object needs `apiVersion`, `kind` and `metadata.name` (or a
/// `generateName`, to be [created](super::Applier::create)). What else a kind requires is for the server to say.
///
/// ```
/// use kube_client::ResourceExt;
/// use kube_tools::yaml::Objects;
///
/// let mut objects = Objects::parse(r#"{"apiVersion": "v1", "kind": "List", "items": [
///     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
///     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}]}"#)?;
/// for object in objects.iter_mut() {
///     object.labels_mut().insert("app".to_owned(), "shop".to_owned());
/// }
/// assert_eq!(objects.len(), 2);
///
/// let err = Objects::parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n").unwrap_err();
/// assert!(err.to_string().starts_with("document 1, line 1: metadata.name: a ConfigMap needs a name"), "{err}");
/// # Ok::<(), kube_tools::yaml::ReadError>(())
/// ```
///
/// # Limits
/// A file may have 256 MiB, and a document 128 levels. What YAML aliases expand to is limited, so that a small text cannot fill the memory.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    entries: Vec<Entry>,
    /// The place of each object that has a name. `None` if a program may have changed the objects since.
    places: Option<HashMap<ObjectId, usize>>,
}

/// An object, and where it was read; `None` for an object of the program.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) object: DynamicObject,
    pub(super) source: Option<Source>,
}

impl Objects {
    /// Parses YAML or JSON.
    ///
    /// # Errors
    /// [`ReadError::Syntax`], [`ReadError::NotAnObject`] and [`ReadError::Duplicate`], for the first fault.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        Self::parse_named("", text)
    }

    /// Reads one file, whatever its name, or the `.yaml`, `.yml` and `.json` files of a directory in the order of their names, as
    /// `kubectl apply -f` does. Subdirectories are not read.
    ///
    /// Blocks while it reads: for a file system that may be slow, call it in `tokio::task::spawn_blocking`.
    ///
    /// ```no_run
    /// use kube_tools::yaml::Objects;
    ///
    /// let mut objects = Objects::read("deploy/")?;
    /// objects.extend(Objects::from_reader("stdin", std::io::stdin())?)?;
    /// # Ok::<(), kube_tools::yaml::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError::Io`], [`ReadError::NoFiles`], and as [`Objects::parse`], with the path of the file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::read_files(path.as_ref(), false)
    }

    /// As [`Objects::read`], with the files of all subdirectories, as `kubectl apply --recursive -f` does. Symbolic links to directories
    /// are not followed, and directories whose names begin with `..` are left out: a mounted ConfigMap has links to the files in one.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn read_recursive(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::read_files(path.as_ref(), true)
    }

    /// Reads YAML or JSON to the end of `reader`, such as standard input. Errors have `name` in place of a path.
    ///
    /// # Errors
    /// As [`Objects::read`].
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, ReadError> {
        let text = read_text(reader).map_err(|err| unreadable(Path::new(name), err))?;
        Self::parse_named(name, &text)
    }

    /// Adds an object of the program: of a static type, a [`DynamicObject`] or JSON. A list adds its items.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kube_tools::yaml::Objects;
    ///
    /// let mut objects = Objects::default();
    /// let mut namespace = Namespace::default();
    /// assert!(objects.add(&namespace).is_err(), "it has no name");
    /// namespace.metadata.name = Some("shop".to_owned());
    /// objects.add(&namespace)?;
    /// # Ok::<(), kube_tools::yaml::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError::NotAnObject`] and [`ReadError::Duplicate`]; the objects are then as before.
    pub fn add(&mut self, object: &impl Serialize) -> Result<(), ReadError> {
        let value = serde_json::to_value(object)
            .map_err(|err| ReadError::NotAnObject { at: None, reason: err.to_string() })?;
        let mut added = Vec::new();
        add_objects(value, None, &mut added)?;
        self.append(added)
    }

    /// Adds other objects after these.
    ///
    /// # Errors
    /// [`ReadError::Duplicate`] if both have an object; these objects are then as before.
    pub fn extend(&mut self, others: Self) -> Result<(), ReadError> {
        self.append(others.entries.into_iter().map(|entry| (entry.object, entry.source)).collect())
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no object, as in an empty file.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The objects, in the order in which they were read.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &DynamicObject> {
        self.entries.iter().map(|entry| &entry.object)
    }

    /// The objects, to be changed, such as to add a label.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = &mut DynamicObject> {
        self.places = None;
        self.entries.iter_mut().map(|entry| &mut entry.object)
    }

    /// Where each object was read, in the order of [`iter`](Self::iter); `None` for objects of the program.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = Option<&Source>> {
        self.entries.iter().map(|entry| entry.source.as_ref())
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn read_files(path: &Path, recursive: bool) -> Result<Self, ReadError> {
        let mut read = Vec::new();
        for file in files_of(path, recursive)? {
            let text =
                std::fs::File::open(&file).and_then(read_text).map_err(|err| unreadable(&file, err))?;
            add_text(&file.to_string_lossy(), &text, &mut read)?;
        }
        Self::unique(read)
    }

    fn parse_named(name: &str, text: &str) -> Result<Self, ReadError> {
        let mut read = Vec::new();
        add_text(name, text, &mut read)?;
        Self::unique(read)
    }

    fn unique(read: Vec<(DynamicObject, Option<Source>)>) -> Result<Self, ReadError> {
        let mut objects = Self::default();
        objects.append(read)?;
        Ok(objects)
    }

    fn append(&mut self, added: Vec<(DynamicObject, Option<Source>)>) -> Result<(), ReadError> {
        let before = self.entries.len();
        self.entries.extend(added.into_iter().map(|(object, source)| Entry { object, source }));
        let earlier_places = self.places.take();
        let first_new = if earlier_places.is_some() { before } else { 0 };
        let mut places = earlier_places.unwrap_or_default();
        let unique = refuse_duplicates(&self.entries, first_new, &mut places);
        if unique.is_err() {
            for added in self.entries.drain(before..) {
                if let hash_map::Entry::Occupied(place) = places.entry(ObjectId::of(&added.object))
                    && *place.get() >= before
                {
                    place.remove();
                }
            }
        }
        self.places = Some(places);
        unique
    }
}

impl FromStr for Objects {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        Self::parse(text)
    }
}

impl IntoIterator for Objects {
    type Item = DynamicObject;
    type IntoIter = std::vec::IntoIter<DynamicObject>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter().map(|entry| entry.object).collect::<Vec<_>>().into_iter()
    }
}

fn add_text(
    name: &str,
    text: &str,
    objects: &mut Vec<(DynamicObject, Option<Source>)>,
) -> Result<(), ReadError> {
    for (document, source) in documents(&Arc::from(name), text)? {
        add_objects(document, Some(source), objects)?;
    }
    Ok(())
}

/// Adds the places of the entries from `first_new` on. Two versions of one kind are one object. Objects that get their names from the
/// server differ.
fn refuse_duplicates(
    entries: &[Entry],
    first_new: usize,
    places: &mut HashMap<ObjectId, usize>,
) -> Result<(), ReadError> {
    let named =
        entries.iter().enumerate().skip(first_new).filter(|(_, it)| it.object.metadata.name.is_some());
    for (at, entry) in named {
        let id = ObjectId::of(&entry.object);
        match places.entry(id) {
            hash_map::Entry::Vacant(new) => drop(new.insert(at)),
            hash_map::Entry::Occupied(first) => {
                let object = first.key().in_words();
                let [first, second] =
                    [&entries[*first.get()], entry].map(|entry| entry.source.clone().map(Box::new));
                return Err(ReadError::Duplicate { object, first, second });
            }
        }
    }
    Ok(())
}

fn read_text(reader: impl Read) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, "more than 256 MiB"));
    }
    decode_text(&bytes)
}

const MAX_BYTES: u64 = 256 * 1024 * 1024;

#[cfg(test)]
mod tests;
