//! Which bytes of a JSON text are in strings: for one byte after the other, and for blocks of 64 bytes as bit masks.

/// Whether a position is inside a string, and there after a backslash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StringState {
    #[default]
    Outside,
    Inside,
    Escaped,
}

impl StringState {
    /// Processes a byte. Returns whether it is part of a string.
    pub(super) fn step(&mut self, byte: u8) -> bool {
        let (next, within) = match (*self, byte) {
            (Self::Outside, b'"') => (Self::Inside, true),
            (Self::Outside, _) => return false,
            (Self::Inside, b'"') => (Self::Outside, true),
            (Self::Inside, b'\\') => (Self::Escaped, true),
            (Self::Inside, _) => return true,
            (Self::Escaped, _) => (Self::Inside, true),
        };
        *self = next;
        within
    }
}

/// The bytes that are scanned at the same time, one for each bit of a mask. The lowest bit is the first byte.
pub(super) const BLOCK: usize = u64::BITS as usize;
pub(super) type Block = [u8; BLOCK];

/// Which bytes of each block are in a string.
#[derive(Clone, Debug, Default)]
pub(super) struct StringMask {
    /// All bits are set if the next block begins in a string.
    inside: u64,
    /// The lowest bit is set if the next byte follows a backslash that escapes it.
    escaped: u64,
}

impl StringMask {
    /// The bytes of the next block that are in a string, with its opening quotation mark and without the closing one. The block
    /// has `length` bytes, followed by spaces.
    pub(super) fn next(&mut self, block: &Block, length: usize) -> u64 {
        // Most blocks have none, and one comparison of all bytes costs less than a mask.
        let any = block.iter().fold(false, |any, byte| any | (*byte == b'\\'));
        let backslashes = if any { bits(block, |byte| byte == b'\\') } else { 0 };
        let quotes = bits(block, |byte| byte == b'"') & !self.escape(backslashes, length);
        // Each bit becomes the parity of the quotation marks up to it.
        let mut strings = quotes;
        for distance in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << distance;
        }
        strings ^= self.inside;
        self.inside = 0_u64.wrapping_sub(strings >> (BLOCK - 1));
        strings
    }

    /// The bytes that a backslash escapes: those behind an odd number of backslashes.
    fn escape(&mut self, backslashes: u64, length: usize) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let backslashes = backslashes & !self.escaped;
        let behind = backslashes << 1 | self.escaped;
        // The addition carries through each run of backslashes that begins at an odd bit. So it inverts which bits behind it are escaped.
        let odd_starts = backslashes & ODD & !behind;
        let (carried, overflow) = odd_starts.overflowing_add(backslashes);
        let escaped = (!ODD ^ (carried << 1)) & behind;
        self.escaped = if length < BLOCK { escaped >> length & 1 } else { u64::from(overflow) };
        escaped
    }
}

/// A bit for each byte. The compiler turns the comparison into vector instructions.
pub(super) fn bits(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
    let flags = block.map(|byte| u8::from(is(byte)));
    let (words, _) = flags.as_chunks::<8>();
    let mut mask = 0;
    for (index, word) in words.iter().enumerate() {
        // The product moves the lowest bit of byte `i` to bit `56 + i`.
        let byte = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= byte << (8 * index);
    }
    mask
}
