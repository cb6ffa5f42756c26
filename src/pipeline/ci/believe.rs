//! Whether a note is to be believed: its signature, its subject, its policy, its version, against what the base says.

use crate::config::glob::Glob;
use crate::config::{GateSettings, Role, Settings, policy_digest};
use crate::host::clock::Timestamp;
use crate::host::git::{GitError, Repo};
use crate::host::ids::{CommitId, TreeId};
use crate::host::path::RepoPath;
use crate::integrate::attest::{
    AllowedSigners, CERTIFIED, Certified, Envelope, LANDING, Landing, SignatureState, Uncertified, check_signature,
    parse_bundle,
};
use crate::verifier::VERIFIER_PROMPT;

/// A note that was not believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    /// The commit it is on, or is about.
    pub(super) commit: CommitId,
    /// Stable.
    pub(super) code: &'static str,
    pub(super) why: String,
}

/// A note that was believed.
#[derive(Debug, Clone)]
pub(super) struct Believed {
    pub(super) landing: Landing,
    pub(super) signer: Option<String>,
    pub(super) role: Option<Role>,
}

/// What the base says about whom and what to believe.
#[derive(Debug)]
pub(super) struct Trust<'r> {
    pub(super) repo: &'r Repo,
    pub(super) settings: &'r Settings,
    pub(super) signers: AllowedSigners,
    pub(super) now: Timestamp,
}

/// Whose signature a note carries, and in which role; nobody's where the base takes unsigned ones.
type SignedBy = (Option<String>, Option<Role>);

/// What a note has to be about.
#[derive(Debug, Clone, Copy)]
pub(super) enum About<'a> {
    /// Exactly this commit and its tree.
    Commit(&'a CommitId, &'a TreeId),
    /// A commit that need not be here, with this tree.
    Tree(&'a TreeId),
    /// A commit that need not be here.
    Named(&'a CommitId),
}

impl<'r> Trust<'r> {
    pub(super) fn at(repo: &'r Repo, base_tree: &TreeId, settings: &'r Settings) -> Result<Self, GitError> {
        let path = RepoPath::from(settings.gate.signers_file());
        let bytes = repo.file(base_tree, &path, 2 << 20)?.unwrap_or_default();
        Ok(Self { repo, settings, signers: AllowedSigners::parse(&bytes), now: repo.host().clock.now() })
    }

    /// The policy of a judgement by this verifier under the settings at the base.
    pub(super) fn policy(&self, verifier: &str) -> String {
        policy_digest(self.settings, verifier, VERIFIER_PROMPT)
    }

    /// The landings that a note speaks of, as far as everything about them is as it has to be. `on` is the commit it was found on.
    pub(super) fn believe(&self, note: &[u8], on: &CommitId, about: About<'_>) -> Result<Vec<Believed>, Rejected> {
        let reject = |code, why: String| Rejected { commit: on.clone(), code, why };
        let (envelopes, unreadable) = parse_bundle(note);
        let mut last = match unreadable {
            0 => reject("no-landing", "the note says nothing about a landing".to_owned()),
            _ => reject("note-unreadable", format!("{unreadable} of its lines are no statements")),
        };
        let mut believed: Vec<Believed> = Vec::new();
        for envelope in envelopes.iter().rev() {
            let statement = match envelope.statement() {
                Ok(statement) if statement.predicate_type == LANDING => statement,
                Ok(_) => continue,
                Err(why) => {
                    last = reject("note-unreadable", why.to_string());
                    continue;
                }
            };
            let landing: Landing = match serde_json::from_value(statement.predicate.clone()) {
                Ok(landing) => landing,
                Err(why) => {
                    last = reject("note-unreadable", format!("its predicate cannot be read: {why}"));
                    continue;
                }
            };
            let subjects = (statement.digest("gitCommit"), statement.digest("gitTree"));
            if subjects != (Some(landing.commit.as_str()), Some(landing.tree.as_str())) {
                last = reject("note-unreadable", "its subjects are not those of its predicate".to_owned());
                continue;
            }
            let judged = is_about(&landing, about)
                .and_then(|()| self.signed(envelope))
                .and_then(|signed| self.acceptable(&landing).map(|()| signed));
            match judged {
                // The gate itself may have verified several tasks on one commit.
                Ok((signer, role)) if is_another(&believed, &landing) => {
                    believed.push(Believed { landing, signer, role });
                }
                Ok(_) => {}
                Err((code, why)) => last = reject(code, why),
            }
        }
        if believed.is_empty() { Err(last) } else { Ok(believed) }
    }

    /// True if what this note says about its own commit is signed so that it counts, whatever it says.
    pub(super) fn is_signed(&self, note: &[u8], commit: &CommitId) -> bool {
        parse_bundle(note).0.iter().any(|envelope| {
            let statement = envelope.statement().ok().filter(|statement| statement.predicate_type == LANDING);
            statement.is_some_and(|statement| statement.digest("gitCommit") == Some(commit.as_str()))
                && self.signed(envelope).is_ok()
        })
    }

    /// True if a note on a range's last commit says, so that it counts, that a PASS under the base's policy covers the range.
    pub(super) fn is_certified(&self, note: &[u8], range: &Uncertified) -> bool {
        parse_bundle(note).0.iter().any(|envelope| {
            let statement = envelope.statement().ok().filter(|statement| {
                statement.predicate_type == CERTIFIED && statement.digest("gitCommit") == Some(range.to.as_str())
            });
            let said = statement.and_then(|statement| serde_json::from_value::<Certified>(statement.predicate).ok());
            said.is_some_and(|said| {
                self.covers(&said, range)
                    && self.under_policy(&said.version, &said.verifier, &said.policy, &[]).is_ok()
                    && self.signed(envelope).is_ok()
            })
        })
    }

    /// What a statement says of a range, looked up as far as its commits are here: the diff starts at or before the range, and
    /// the work contains it. A head that nobody fetched is the signer's word.
    fn covers(&self, said: &Certified, range: &Uncertified) -> bool {
        let is_before = |old, new| self.repo.is_ancestor(old, new).unwrap_or(false);
        let here = matches!(self.repo.resolve(said.head.as_str()), Ok(Some(_)));
        said.to == range.to
            && said.from == range.from
            && is_before(&said.base, &range.from)
            && (!here || is_before(&range.to, &said.head))
    }

    fn signed(&self, envelope: &Envelope) -> Result<SignedBy, (&'static str, String)> {
        match check_signature(self.repo.host(), envelope, &self.signers, self.now) {
            SignatureState::Good { principal } => {
                let role = role_of(&self.settings.gate, &principal);
                let accepted = &self.settings.gate.accept_roles;
                if !accepted.is_empty() && !accepted.contains(&role) {
                    let why = format!("{principal} signed it as a {}, and the base asks for another", role.word());
                    return Err(("role-not-accepted", why));
                }
                Ok((Some(principal), Some(role)))
            }
            SignatureState::Unsigned if self.settings.gate.unsigned => Ok((None, None)),
            SignatureState::Unsigned => {
                Err(("unsigned", "nobody signed it, and the settings at the base want a signature".to_owned()))
            }
            SignatureState::Bad { code, why } => Err((code, why)),
        }
    }

    fn acceptable(&self, landing: &Landing) -> Result<(), (&'static str, String)> {
        // Nothing was judged there, so nothing was judged under a policy.
        if landing.no_verify {
            return self.version(&landing.version);
        }
        self.under_policy(&landing.version, &landing.verifier, &landing.policy, &landing.sources)
    }

    fn version(&self, version: &str) -> Result<(), (&'static str, String)> {
        if version_accepted(&self.settings.gate, version) {
            return Ok(());
        }
        Err(("version-not-accepted", format!("countersign {version} wrote it, which the base does not accept")))
    }

    fn under_policy(
        &self,
        version: &str,
        verifier: &str,
        policy: &str,
        sources: &[String],
    ) -> Result<(), (&'static str, String)> {
        self.version(version)?;
        let gate = &self.settings.gate;
        if policy != self.policy(verifier) {
            let from = sources.join(", ");
            let why = format!("it was judged under other settings or another prompt than the base's (from {from})");
            return Err(("policy-differs", why));
        }
        if !gate.verifiers.is_empty() && !gate.verifiers.iter().any(|accepted| accepted == verifier) {
            let why = format!("the verifier {verifier} judged it, which the base does not accept");
            return Err(("verifier-not-accepted", why));
        }
        Ok(())
    }
}

/// True for the first landing, and for one of another task over the same step.
fn is_another(believed: &[Believed], landing: &Landing) -> bool {
    let same_step = believed.first().is_none_or(|first| first.landing.parent == landing.parent);
    same_step && believed.iter().all(|one| one.landing.task != landing.task)
}

fn is_about(landing: &Landing, about: About<'_>) -> Result<(), (&'static str, String)> {
    let (commit, tree) = match about {
        About::Commit(commit, tree) => (Some(commit), Some(tree)),
        About::Tree(tree) => (None, Some(tree)),
        About::Named(commit) => (Some(commit), None),
    };
    if commit.is_some_and(|commit| *commit != landing.commit) {
        let why = format!("it is about the commit {}: it was copied from there", landing.commit.short());
        return Err(("note-of-another-commit", why));
    }
    if tree.is_some_and(|tree| *tree != landing.tree) {
        let why = format!("it is about the tree {}, and this is another", landing.tree.short());
        return Err(("note-of-another-tree", why));
    }
    Ok(())
}

/// The role of a principal: by the first list of the settings that names it.
pub(super) fn role_of(gate: &GateSettings, principal: &str) -> Role {
    let named = gate.roles.iter().find(|(_, globs)| any_glob(globs, principal));
    named.map_or(Role::Developer, |(role, _)| *role)
}

/// True if one of the globs is the whole text's.
pub(super) fn any_glob(globs: &[String], text: &str) -> bool {
    let path = RepoPath::from(text);
    globs.iter().any(|glob| Glob::new(glob).is_ok_and(|glob| glob.matches(&path)))
}

fn version_accepted(gate: &GateSettings, version: &str) -> bool {
    if gate.accept_versions.is_empty() {
        let minor = |version: &str| version.splitn(3, '.').take(2).map(str::to_owned).collect::<Vec<_>>();
        return minor(version) == minor(env!("CARGO_PKG_VERSION"));
    }
    any_glob(&gate.accept_versions, version)
}
