//! SSH signatures and public keys, as far as Ed25519 goes; other kinds are left to `ssh-keygen`.
//!
//! The form is OpenSSH's (PROTOCOL.sshsig): an armoured blob of strings with a namespace, over the digest of the message.

use crate::host::digest::{sha256, sha512};
use base64ct::{Base64, Base64Unpadded, Encoding};
use ed25519_dalek::{Signature, VerifyingKey};

const MAGIC: &[u8] = b"SSHSIG";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// A longer signature is none.
const LONGEST: usize = 64 << 10;
const ED25519: &[u8] = b"ssh-ed25519";

/// A parsed signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SshSignature {
    /// The public key, as OpenSSH writes keys.
    pub(super) key: Vec<u8>,
    /// What it was made for.
    pub(super) namespace: Vec<u8>,
    hash: Vec<u8>,
    signature: Vec<u8>,
}

/// What a signature is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// It is the key's.
    Good,
    /// It is not, or cannot be.
    Bad,
    /// A kind of key that this process does not know.
    OtherKind,
}

impl SshSignature {
    /// Reads an armoured signature.
    pub(super) fn parse(armored: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(armored).ok().filter(|text| text.len() <= LONGEST)?;
        let body = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
        let packed: String = body.split_ascii_whitespace().collect();
        let blob = Base64::decode_vec(&packed).ok()?;
        let rest = blob.strip_prefix(MAGIC)?;
        let (version, rest) = rest.split_at_checked(4)?;
        if version != 1_u32.to_be_bytes() {
            return None;
        }
        let (key, rest) = string(rest)?;
        let (namespace, rest) = string(rest)?;
        let (_reserved, rest) = string(rest)?;
        let (hash, rest) = string(rest)?;
        let (signature, rest) = string(rest)?;
        let owned = |bytes: &[u8]| bytes.to_vec();
        rest.is_empty().then(|| Self {
            key: owned(key),
            namespace: owned(namespace),
            hash: owned(hash),
            signature: owned(signature),
        })
    }

    /// Whether it is its key's signature of the message, in its namespace.
    pub(super) fn verify(&self, message: &[u8]) -> Worth {
        let Some(public) = ed25519_of(&self.key) else { return Worth::OtherKind };
        let hashed = match self.hash.as_slice() {
            b"sha512" => sha512(message),
            b"sha256" => sha256(message),
            _ => return Worth::Bad,
        };
        let mut signed = MAGIC.to_vec();
        for part in [self.namespace.as_slice(), b"", &self.hash, &hashed] {
            put(&mut signed, part);
        }
        let raw = string(&self.signature).filter(|(kind, _)| *kind == ED25519).and_then(|(_, rest)| string(rest));
        match raw {
            Some((raw, [])) if verify_ed25519(&public, &signed, raw) => Worth::Good,
            _ => Worth::Bad,
        }
    }
}

/// True for a signature of this message by this key.
pub(super) fn verify_ed25519(public: &[u8; 32], message: &[u8], signature: &[u8]) -> bool {
    let (Ok(key), Ok(signature)) = (VerifyingKey::from_bytes(public), Signature::from_slice(signature)) else {
        return false;
    };
    key.verify_strict(message, &signature).is_ok()
}

/// The 32 bytes of an Ed25519 key as OpenSSH writes it.
pub(super) fn ed25519_of(blob: &[u8]) -> Option<[u8; 32]> {
    let (kind, rest) = string(blob)?;
    let (key, rest) = string(rest)?;
    if kind == ED25519 && rest.is_empty() { key.try_into().ok() } else { None }
}

/// An Ed25519 key as OpenSSH writes it.
pub(super) fn ed25519_blob(public: &[u8; 32]) -> Vec<u8> {
    let mut blob = Vec::new();
    put(&mut blob, ED25519);
    put(&mut blob, public);
    blob
}

/// A key's fingerprint as OpenSSH shows it.
pub(super) fn fingerprint(blob: &[u8]) -> String {
    format!("SHA256:{}", Base64Unpadded::encode_string(&sha256(blob)))
}

fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(4)?;
    let length = u32::from_be_bytes(length.try_into().ok()?);
    rest.split_at_checked(usize::try_from(length).ok()?)
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(part);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ed25519_dalek::{Signer, SigningKey};
    use proptest::prelude::*;

    /// An armoured signature as `ssh-keygen -Y sign` makes them.
    pub(in super::super) fn armored(key: &SigningKey, namespace: &str, message: &[u8]) -> String {
        let mut signed = MAGIC.to_vec();
        for part in [namespace.as_bytes(), b"", b"sha512", &sha512(message)] {
            put(&mut signed, part);
        }
        let mut signature = Vec::new();
        put(&mut signature, ED25519);
        put(&mut signature, &key.sign(&signed).to_bytes());
        let mut blob = MAGIC.to_vec();
        blob.extend(1_u32.to_be_bytes());
        for part in
            [&ed25519_blob(&key.verifying_key().to_bytes())[..], namespace.as_bytes(), b"", b"sha512", &signature]
        {
            put(&mut blob, part);
        }
        format!("{BEGIN}\n{}\n{END}\n", Base64::encode_string(&blob))
    }

    #[test]
    fn a_signature_is_good_for_its_own_message_alone() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = SshSignature::parse(armored(&key, "countersign", b"hello").as_bytes()).unwrap();
        assert_eq!(signature.verify(b"hello"), Worth::Good);
        assert_eq!(signature.verify(b"hullo"), Worth::Bad);
        let other = SshSignature { namespace: b"git".to_vec(), ..signature.clone() };
        assert_eq!(other.verify(b"hello"), Worth::Bad);
        let rsa = SshSignature { key: [&7_u32.to_be_bytes()[..], b"ssh-rsa"].concat(), ..signature };
        assert_eq!(rsa.verify(b"hello"), Worth::OtherKind);
        assert_eq!(SshSignature::parse(b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----"), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_of_signatures_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let armored = format!("{BEGIN}\n{}\n{END}", Base64::encode_string(&[MAGIC, &1_u32.to_be_bytes()[..], &bytes].concat()));
            if let Some(signature) = SshSignature::parse(armored.as_bytes()) {
                prop_assert_ne!(signature.verify(b"x"), Worth::Good);
            }
            let _ = SshSignature::parse(&bytes);
        }
    }
}
