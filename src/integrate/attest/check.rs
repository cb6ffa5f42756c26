//! Whether an envelope carries a signature that counts.

use super::envelope::Envelope;
use super::signers::{AllowedSigners, Signer};
use super::sshsig::{self, SshSignature, Worth};
use crate::host::Host;
use crate::host::clock::Timestamp;
use crate::host::signing::{NAMESPACE, verify_by_program};

/// What an envelope's signatures are worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignatureState {
    /// Nobody signed it.
    Unsigned,
    /// An allowed key signed exactly this.
    Good {
        /// Whose key, as the allowed signers name it.
        principal: String,
    },
    /// There is a signature, and it does not count.
    Bad {
        /// Stable: `signature-invalid`, `unknown-key`, `wrong-namespace`, `key-expired`.
        code: &'static str,
        /// In words.
        why: String,
    },
}

/// Checks the signatures of an envelope against the allowed signers, as of now. One good signature is enough.
pub fn check_signature(host: &Host, envelope: &Envelope, allowed: &AllowedSigners, now: Timestamp) -> SignatureState {
    let message = envelope.signed_bytes();
    let mut worst = SignatureState::Unsigned;
    for signature in envelope.signatures.iter().take(8) {
        let state = match signature.bytes() {
            Some(bytes) if bytes.len() == 64 => bare(&bytes, &message, allowed, now),
            Some(bytes) => match SshSignature::parse(&bytes) {
                Some(parsed) => armored(host, &parsed, &bytes, &message, allowed, now),
                None => invalid("it is no signature of a form we know"),
            },
            None => invalid("it is not base64"),
        };
        if matches!(state, SignatureState::Good { .. }) {
            return state;
        }
        worst = state;
    }
    worst
}

fn bad(code: &'static str, why: impl Into<String>) -> SignatureState {
    SignatureState::Bad { code, why: why.into() }
}

fn invalid(why: &str) -> SignatureState {
    bad("signature-invalid", why)
}

/// A signature without a key in it: whichever allowed key made it.
fn bare(bytes: &[u8], message: &[u8], allowed: &AllowedSigners, now: Timestamp) -> SignatureState {
    for signer in allowed.signers.iter().filter(|signer| signer.is_ours_by_name()) {
        let made = sshsig::ed25519_of(&signer.key).is_some_and(|key| sshsig::verify_ed25519(&key, message, bytes));
        if made {
            return in_time(signer, now);
        }
    }
    let why = format!("no key that the base allows for the namespace {NAMESPACE} made it, or what it signs was edited");
    bad("unknown-key", why)
}

fn armored(
    host: &Host,
    signature: &SshSignature,
    bytes: &[u8],
    message: &[u8],
    allowed: &AllowedSigners,
    now: Timestamp,
) -> SignatureState {
    if signature.namespace != NAMESPACE.as_bytes() {
        return bad("wrong-namespace", format!("it was made for another purpose than {NAMESPACE}"));
    }
    let of_key: Vec<&Signer> = allowed.signers.iter().filter(|signer| signer.key == signature.key).collect();
    let Some(signer) = of_key.iter().find(|signer| signer.is_ours()) else {
        let print = sshsig::fingerprint(&signature.key);
        let why = if of_key.is_empty() { "does not know" } else { "allows for other purposes only" };
        return bad("unknown-key", format!("the key {print} is one that the base {why}"));
    };
    let good = match signature.verify(message) {
        Worth::Good => Ok(true),
        Worth::Bad => Ok(false),
        Worth::OtherKind => {
            let line = format!("signer {}\n", signer.words);
            verify_by_program(host, &line, "signer", bytes, message)
        }
    };
    match good {
        Ok(true) => in_time(signer, now),
        Ok(false) => invalid("what it signs was edited afterwards, or another key made it"),
        Err(why) => invalid(&format!("it could not be looked at: {why}")),
    }
}

fn in_time(signer: &Signer, now: Timestamp) -> SignatureState {
    let early = signer.after.is_some_and(|after| now.0 < after);
    let late = signer.before.is_some_and(|before| now.0 >= before);
    if early || late {
        return bad("key-expired", format!("the key of {} is not valid now", signer.principal()));
    }
    SignatureState::Good { principal: signer.principal().to_owned() }
}

/// Tries the reader of signatures on one that is good and on the same over other words: it has to tell them apart.
pub fn signatures_tell_apart() -> bool {
    use ed25519_dalek::{Signer as _, SigningKey};
    let key = SigningKey::from_bytes(&[1; 32]);
    let public = key.verifying_key().to_bytes();
    let signature = key.sign(b"verified").to_bytes();
    sshsig::verify_ed25519(&public, b"verified", &signature)
        && !sshsig::verify_ed25519(&public, b"verifier", &signature)
}
