//! Bytes that decide.

/// Bytes that are read once; at their end only zeros come.
pub(crate) struct Tape<'a>(pub(crate) &'a [u8]);

impl<'a> Tape<'a> {
    pub(crate) fn next(&mut self) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first)
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.next() % list.len()]
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.next() % many == many - 1
    }

    /// Some of the bytes as they are.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let length = (self.next() % 40).min(self.0.len());
        let (raw, rest) = self.0.split_at(length);
        self.0 = rest;
        raw
    }

    /// Some of the bytes as text that a URI might hold.
    pub(crate) fn raw(&mut self) -> String {
        String::from_utf8_lossy(self.bytes())
            .chars()
            .filter(|c| !c.is_control() && !c.is_whitespace())
            .collect()
    }
}
