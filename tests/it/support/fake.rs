//! Scripted verifiers: programs that store what they were told and answer what the test wants.

use super::TestRepo;
use super::repo::write_script;
use std::path::PathBuf;

/// A verifier that reads its brief, runs a step, prints an answer and leaves with a code.
///
/// In the answer `@TOKEN@` becomes the token found in the brief, where the brief says it in a sentence. Everything it needs is inside the script, for its box may hide the rest.
#[derive(Debug, Clone)]
#[must_use]
pub(crate) struct FakeVerifier {
    answer: String,
    step: String,
    code: u8,
}

impl FakeVerifier {
    /// One that prints this answer.
    pub(crate) fn answering(answer: &str) -> Self {
        Self { answer: answer.to_owned(), step: String::new(), code: 0 }
    }

    /// One that answers PASS with these evidence lines, e.g. `C1 It adds — covered by test:adds`.
    pub(crate) fn passing(task: &str, evidence: &[&str]) -> Self {
        let lines: String = evidence.iter().map(|line| format!("- {line}\n")).collect();
        Self::answering(&format!("VERDICT: PASS\nTASK_ID: {task}\nTOKEN: @TOKEN@\nEVIDENCE:\n{lines}"))
    }

    /// One that answers FAIL for these reasons.
    pub(crate) fn failing(task: &str, reasons: &[&str]) -> Self {
        let lines: String = reasons.iter().map(|line| format!("- {line}\n")).collect();
        Self::answering(&format!(
            "VERDICT: FAIL\nTASK_ID: {task}\nTOKEN: @TOKEN@\nREASONS:\n{lines}\
             SUGGESTED_FIX: mend it\nITERATION_HINT: likely-fixable\n"
        ))
    }

    /// Runs these shell lines first, in the folder it was started in. `$brief` holds the brief, `$token` the token.
    pub(crate) fn doing(mut self, step: &str) -> Self {
        self.step.push_str(step);
        self.step.push('\n');
        self
    }

    /// Leaves with this code.
    pub(crate) fn exiting(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Writes the program below the repository's own folder; its path.
    pub(crate) fn install(&self, repo: &TestRepo) -> PathBuf {
        let Self { answer, step, code } = self;
        assert!(!answer.lines().any(|line| line == "END OF THE ANSWER"), "the answer would end its own script");
        let end = if answer.ends_with('\n') || answer.is_empty() { "" } else { "\n" };
        let trim = if end.is_empty() { "" } else { "| head -c -1" };
        let script = format!(
            "#!/bin/sh\nbrief=$(cat)\n\
             token=$(printf '%s\\n' \"$brief\" | sed -n 's/.*The token for your answer is `\\([0-9a-f]*\\)`.*/\\1/p' | head -n 1)\n\
             printf '%s\\n' \"$brief\" > '{}' 2>/dev/null || :\n\
             {step}\
             sed \"s/@TOKEN@/$token/g\" <<'END OF THE ANSWER' {trim}\n{answer}{end}END OF THE ANSWER\n\
             exit {code}\n",
            Self::brief_path(repo).display()
        );
        let program = repo.root().join("fake/verifier");
        write_script(&program, &script);
        program
    }

    /// Where the brief is stored, if the box lets it be (else it is in the sealed case).
    pub(crate) fn brief_path(repo: &TestRepo) -> PathBuf {
        repo.root().join("tmp/brief-as-read")
    }
}

#[test]
fn a_fake_verifier_puts_the_briefs_token_into_its_answer() {
    use std::io::Write;
    use std::process::Stdio;

    let repo = TestRepo::new();
    let token = "0123456789abcdef0123456789abcdef";
    let ask = |fake: &FakeVerifier| {
        let mut child = repo
            .command(fake.install(&repo), &repo.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let nonce = "9".repeat(32);
        let brief = format!("The nonce is `{nonce}`. The token for your answer is `{token}`.\n$(touch hacked)\n");
        child.stdin.take().unwrap().write_all(brief.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    let pass = FakeVerifier::passing("w-001", &["C1 It adds — covered by test:adds"]).doing("touch stepped");
    let expected =
        format!("VERDICT: PASS\nTASK_ID: w-001\nTOKEN: {token}\nEVIDENCE:\n- C1 It adds — covered by test:adds\n");
    assert_eq!(ask(&pass), (Some(0), expected));
    assert!(repo.path().join("stepped").exists() && !repo.path().join("hacked").exists());
    assert!(std::fs::read_to_string(FakeVerifier::brief_path(&repo)).unwrap().contains("$(touch hacked)"));
    assert_eq!(ask(&FakeVerifier::answering("no line end").exiting(3)), (Some(3), "no line end".to_owned()));
    assert_eq!(ask(&FakeVerifier::answering("")), (Some(0), String::new()));
    let (code, answer) = ask(&FakeVerifier::failing("w-001", &["it does not add"]));
    assert_eq!(code, Some(0));
    assert!(answer.contains("REASONS:\n- it does not add\nSUGGESTED_FIX: mend it\n"));
}
