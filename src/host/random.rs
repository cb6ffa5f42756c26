//! Random bits from the system.

use super::digest::hex;
use std::io;

/// 128 random bits in hexadecimal: unguessable, and unlike anything a diff or a log could hold by chance.
///
/// # Errors
/// The system has no randomness to give. A predictable token would be worse than none.
pub fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(hex(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_128_bits_and_differ() {
        let (one, two) = (token().unwrap(), token().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, two);
    }
}
