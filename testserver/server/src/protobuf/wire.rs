//! The protobuf wire format: numbers, lengths and the keys of fields.

/// The undecoded value of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum WireValue<'a> {
    Number(u64),
    /// Eight bytes: a float.
    Fixed(u64),
    Bytes(&'a [u8]),
    /// Four bytes, which no field of Kubernetes has.
    Short,
}

impl WireValue<'_> {
    /// The number of the type on the wire.
    pub(super) fn wire_type(self) -> u32 {
        match self {
            Self::Number(_) => 0,
            Self::Fixed(_) => 1,
            Self::Bytes(_) => 2,
            Self::Short => 5,
        }
    }
}

/// Iterates over the fields of a message; ends after an error.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Reader<'a> {
    type Item = Result<(u32, WireValue<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Reader<'a> {
    fn field(&mut self) -> Result<(u32, WireValue<'a>), String> {
        let tag = self.number()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| *number > 0);
        let number =
            number.ok_or_else(|| format!("proto: illegal tag {} (wire type {})", tag >> 3, tag & 7))?;
        let wire = match tag & 7 {
            0 => WireValue::Number(self.number()?),
            1 => {
                WireValue::Fixed(self.take(8)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
            }
            2 => {
                let length = usize::try_from(self.number()?).map_err(|_| end())?;
                WireValue::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                WireValue::Short
            }
            other => return Err(format!("proto: wrong wireType = {other} for field {number}")),
        };
        Ok((number, wire))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(end)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(super) fn number(&mut self) -> Result<u64, String> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or_else(end)?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".into())
    }
}

/// The end of the bytes within a field.
fn end() -> String {
    "unexpected EOF".into()
}

pub(super) fn put_number(out: &mut Vec<u8>, field: u32, number: u64) {
    put_key(out, field, 0);
    varint(out, number);
}

pub(super) fn put_double(out: &mut Vec<u8>, field: u32, number: f64) {
    put_key(out, field, 1);
    out.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    put_key(out, field, 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_key(out: &mut Vec<u8>, field: u32, wire_type: u32) {
    varint(out, u64::from(field << 3 | wire_type));
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}
