//! Validation of IP addresses and ranges, where each function returns what is wrong, if anything; and the ranges of services.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr},
    str::FromStr,
};

/// A range of IPv4 addresses that services get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServiceRange {
    base: u32,
    length: u32,
}

impl Default for ServiceRange {
    fn default() -> Self {
        Self { base: Ipv4Addr::new(10, 0, 0, 0).to_bits(), length: 8 }
    }
}

impl FromStr for ServiceRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').filter(|_| range(text).is_none()).and_then(|(address, length)| {
            let base = address.parse::<Ipv4Addr>().ok()?.to_bits();
            length.parse().ok().filter(|length| (1..=30).contains(length)).map(|length| Self { base, length })
        });
        parsed
            .ok_or_else(|| format!("expected a range of IPv4 addresses such as 10.0.0.0/16, found {text:?}"))
    }
}

impl fmt::Display for ServiceRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from_bits(self.base), self.length)
    }
}

impl ServiceRange {
    pub(crate) fn contains(self, ip: Ipv4Addr) -> bool {
        (ip.to_bits() ^ self.base) >> (32 - self.length) == 0
    }

    /// Whether it is an address of the range that no service gets: the first one and the last one.
    pub(crate) fn reserves(self, ip: Ipv4Addr) -> bool {
        let host = ip.to_bits() - self.base;
        host == 0 || host == self.usable() + 1
    }

    /// The addresses that services get, of which the first one follows from a number.
    pub(crate) fn addresses(self, start: u64) -> impl Iterator<Item = Ipv4Addr> {
        let (base, usable) = (self.base, self.usable());
        // Fits: it is below `usable`.
        let start = (start % u64::from(usable)) as u32;
        (0..usable).map(move |more| Ipv4Addr::from_bits(base + 1 + (start + more) % usable))
    }

    fn usable(self) -> u32 {
        (u32::MAX >> self.length) - 1
    }
}

pub(crate) fn address(text: &str) -> Option<String> {
    let why = match text.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => "must not be an IPv4-mapped IPv6 address",
        Ok(_) if !text.contains('%') => return None,
        _ if without_zeros(text).parse::<Ipv4Addr>().is_ok() => "must not have leading 0s",
        _ => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    Some(why.to_owned())
}

/// An address as Go prints it.
pub(crate) fn canonical_address(text: &str) -> Option<String> {
    address(text).or_else(|| {
        let canonical = text.parse::<IpAddr>().ok()?.to_string();
        (canonical != text).then(|| format!("must be in canonical form (\"{canonical}\")"))
    })
}

/// A range of addresses, such as `10.0.0.0/8`.
pub(crate) fn range(text: &str) -> Option<String> {
    const WRONG: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    let (address, length) = text.split_once('/').unwrap_or_default();
    let (first, fixed) = (without_zeros(address).parse::<IpAddr>(), without_zeros(length).parse::<u32>());
    let (Ok(first), Ok(fixed)) = (first, fixed) else { return Some(WRONG.to_owned()) };
    let (all, more) = match first {
        IpAddr::V4(ip) => (32, ip.to_bits().checked_shl(fixed).unwrap_or(0) != 0),
        IpAddr::V6(ip) => (128, ip.to_bits().checked_shl(fixed).unwrap_or(0) != 0),
    };
    let why = match () {
        () if fixed > all || length.starts_with('+') => WRONG,
        () if is_mapped(first) => "must not have an IPv4-mapped IPv6 address",
        () if address.parse::<IpAddr>().is_err() || length.len() > 1 && length.starts_with('0') => {
            "must not have leading 0s in IP or prefix length"
        }
        () if more => "must not have bits set beyond the prefix length",
        () => return None,
    };
    Some(why.to_owned())
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// The decimal numbers of an address without zeros before them.
fn without_zeros(text: &str) -> String {
    let number = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    match text.contains(':') {
        true => text.to_owned(),
        false => text.split('.').map(number).collect::<Vec<_>>().join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_addresses_but_the_first_and_the_last() {
        let range: ServiceRange = "172.20.0.8/30".parse().unwrap();
        let ip = |last| Ipv4Addr::new(172, 20, 0, last);
        assert_eq!(range.to_string(), "172.20.0.8/30");
        assert_eq!(range.addresses(7).collect::<Vec<_>>(), [ip(10), ip(9)]);
        assert_eq!([7, 8, 11, 12].map(|last| range.contains(ip(last))), [false, true, true, false]);
        assert_eq!([8, 9, 10, 11].map(|last| range.reserves(ip(last))), [true, false, false, true]);
        assert_eq!(ServiceRange::default().addresses(0).next(), Some(Ipv4Addr::new(10, 0, 0, 1)));
        for bad in [
            "",
            "10.0.0.0",
            "10.0.0.1/24",
            "10.0.0.0/31",
            "10.0.0.0/0",
            "fd00::/108",
            "10.0.0.0/16,fd00::/108",
        ] {
            assert!(bad.parse::<ServiceRange>().unwrap_err().contains(bad), "{bad}");
        }
    }

    #[test]
    fn addresses_are_in_canonical_form() {
        assert_eq!((canonical_address("10.0.0.1"), canonical_address("fe80::1")), (None, None));
        assert_eq!((address("10.0.0.1"), address("FE80::1")), (None, None));
        for (bad, why) in [
            ("a", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
            ("1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
            ("10.0.0.01", "must not have leading 0s"),
            ("FE80::1", "must be in canonical form (\"fe80::1\")"),
            ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ] {
            assert_eq!(canonical_address(bad).as_deref(), Some(why));
        }
    }
}
