//! SHA-256: digests that others can check with their own tools.

use sha2::{Digest, Sha256, Sha512};
use std::io::Read;

/// SHA-256 of some bytes, in hexadecimal.
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of everything that a reader gives, in hexadecimal and in little memory.
///
/// # Errors
/// It cannot be read to its end.
pub fn digest_of_all(mut from: impl Read) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut part = vec![0; 256 << 10];
    loop {
        let found = match from.read(&mut part) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(found) => found,
            Err(why) if why.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        hasher.update(&part[..found]);
    }
}

/// Bytes in hexadecimal, two digits each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of some bytes, as bytes.
pub fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// SHA-512 of some bytes, as bytes.
pub fn sha512(bytes: &[u8]) -> Vec<u8> {
    Sha512::digest(bytes).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_s_digest_is_that_of_its_bytes() {
        let bytes = vec![7; 600_000];
        assert_eq!(digest_of_all(&bytes[..]).unwrap(), digest(&bytes));
        assert_eq!(digest_of_all(&b""[..]).unwrap(), digest(b""));
    }

    #[test]
    fn the_digest_is_sha_256() {
        assert_eq!(digest(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
