//! The source of random decisions.

/// Input bytes, consumed once; zeros after the end.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
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

    /// Some raw bytes.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let length = (self.next() % 40).min(self.0.len());
        let (raw, rest) = self.0.split_at(length);
        self.0 = rest;
        raw
    }

    /// Some bytes as text for a URI.
    pub(crate) fn raw(&mut self) -> String {
        String::from_utf8_lossy(self.bytes())
            .chars()
            .filter(|c| !c.is_control() && !c.is_whitespace())
            .collect()
    }
}
