//! Repetitions in a pattern, and Go's limit of their product.

use super::error::error;

/// The largest count, of nested repetitions together.
const MAX: u32 = 1000;

/// What has been read of every open group.
pub(super) struct Repeats<'p> {
    groups: Vec<Group>,
    /// The text from the last repetition on, if nothing followed it.
    last: Option<&'p str>,
}

#[derive(Clone, Copy, Default)]
struct Group {
    /// The largest product of nested counts.
    product: u32,
    /// The product of what a repetition would repeat; `None` if there is nothing.
    atom: Option<u32>,
}

impl Default for Repeats<'_> {
    fn default() -> Self {
        Self { groups: vec![Group::new()], last: None }
    }
}

impl Group {
    fn new() -> Self {
        Self { product: 1, atom: None }
    }
}

impl<'p> Repeats<'p> {
    /// The number of open groups.
    pub(super) fn depth(&self) -> usize {
        self.groups.len() - 1
    }

    pub(super) fn open(&mut self) {
        self.groups.push(Group::new());
        self.last = None;
    }

    /// `false` if no group is open.
    pub(super) fn close(&mut self) -> bool {
        if self.depth() == 0 {
            return false;
        }
        let product = self.groups.pop().map_or(1, |group| group.product);
        self.add(product);
        true
    }

    pub(super) fn alternative(&mut self) {
        self.group().atom = None;
        self.last = None;
    }

    pub(super) fn atom(&mut self) {
        self.add(1);
    }

    /// Reads a repetition: its text and what follows. `None` if there is none.
    pub(super) fn operator(&mut self, start: &'p str) -> Result<Option<(String, &'p str)>, String> {
        let (text, count, rest) = match start.strip_prefix('{') {
            None => (start[..1].to_owned(), 1, &start[1..]),
            Some(counts) => match counted(counts) {
                None => return Ok(None),
                Some((min, max, rest)) => {
                    let part = &start[..start.len() - rest.len()];
                    let most = max.unwrap_or(Some(min));
                    if [Some(min), most].into_iter().flatten().any(|n| n > MAX)
                        || most.is_some_and(|max| max < min)
                    {
                        return Err(error("invalid repeat count", part));
                    }
                    (part.to_owned(), most.unwrap_or(min).max(1), rest)
                }
            },
        };
        let operator = &start[..start.len() - rest.len()];
        let (lazy, rest) = match rest.strip_prefix('?') {
            Some(rest) => ("?", rest),
            None => ("", rest),
        };
        if let Some(last) = self.last {
            let part = &last[..last.len() - rest.len()];
            return Err(error("invalid nested repetition operator", part));
        }
        let Some(product) = self.group().atom else {
            return Err(error("missing argument to repetition operator", operator));
        };
        let product = product.saturating_mul(count);
        if product > MAX {
            return Err(error("invalid repeat count", operator));
        }
        self.add(product);
        self.last = Some(start);
        Ok(Some((text + lazy, rest)))
    }

    fn add(&mut self, product: u32) {
        let group = self.group();
        group.atom = Some(product);
        group.product = group.product.max(product);
        self.last = None;
    }

    fn group(&mut self) -> &mut Group {
        self.groups.last_mut().expect("invariant: the pattern itself is a group")
    }
}

/// `n}`, `n,}` and `n,m}`. The maximum is `None` for `n}` and `Some(None)` for `n,}`.
type Counts<'p> = (u32, Option<Option<u32>>, &'p str);

fn counted(text: &str) -> Option<Counts<'_>> {
    let (min, rest) = number(text)?;
    let Some(rest) = rest.strip_prefix(',') else {
        return Some((min, None, rest.strip_prefix('}')?));
    };
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((min, Some(None), rest));
    }
    let (max, rest) = number(rest)?;
    Some((min, Some(Some(max)), rest.strip_prefix('}')?))
}

/// A number without leading zeros. Large ones are too large for a repetition.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}
