//! Validation of IP addresses and ranges; each function returns what is wrong, if anything.

use std::net::{IpAddr, Ipv4Addr};

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
