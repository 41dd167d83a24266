//! A range of IP addresses, as in `NO_PROXY`.

use std::net::IpAddr;

/// `10.0.0.0/8` or `fd00::/8`: all addresses of the family that begin with the first bits of this one, as many as the prefix says.
pub(super) struct IpRange {
    network: IpAddr,
    prefix: u32,
}

impl IpRange {
    /// `None` if the text is no range.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (network, prefix) = text.split_once('/')?;
        let network: IpAddr = without_leading_zeros(network).parse().ok()?;
        let (digits, bits) = if network.is_ipv4() { (2, 32) } else { (3, 128) };
        // `parse` alone accepts a sign, and any number of zeros.
        let decimal = prefix.len() <= digits && prefix.bytes().all(|digit| digit.is_ascii_digit());
        let prefix = prefix.parse().ok().filter(|prefix| decimal && *prefix <= bits)?;
        Some(Self { network, prefix })
    }

    /// An IPv4 address is never in a range of IPv6, nor the other way round, even if one is mapped to the other.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let equal_bits = match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros()
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                (network.to_bits() ^ address.to_bits()).leading_zeros()
            }
            _ => return false,
        };
        equal_bits >= self.prefix
    }
}

/// `010.001.0.0` is `10.1.0.0` in a range, where the standard library rejects it because C programs read octal numbers.
fn without_leading_zeros(address: &str) -> String {
    let decimal = |octet: &str| match octet.parse::<u8>() {
        Ok(number) if octet.len() <= 3 && !octet.starts_with('+') => number.to_string(),
        _ => octet.to_owned(),
    };
    // The IPv4 address at the end of an IPv6 address is written like one alone.
    let (groups, octets) = address.split_at(address.rfind(':').map_or(0, |colon| colon + 1));
    if !octets.contains('.') {
        return address.to_owned();
    }
    let octets: Vec<String> = octets.split('.').map(decimal).collect();
    groups.to_owned() + &octets.join(".")
}
