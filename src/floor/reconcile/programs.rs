//! What a step of a command line does: tests, builds, edits, looks.

use super::shell::Step;
use crate::floor::tests_run::base_name;

/// How much of the tests a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of them, as far as its words tell.
    Whole,
    /// A part, and what narrows it.
    Part(String),
}

/// The scope of a test run; nothing if the step runs no tests.
pub(super) fn tests(words: &[String], known: &[String]) -> Option<Scope> {
    let line = words.join(" ");
    if known.contains(&line) {
        return Some(Scope::Whole);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let lists_only =
        ["--collect-only", "--co", "--list", "--no-run", "--help", "-h", "--version", "--listTests", "--dry-run"];
    let dry = words.first().is_some_and(|first| matches!(base_name(first), "make" | "gmake" | "just" | "ninja"));
    if words.iter().any(|word| lists_only.contains(word) || (dry && *word == "-n")) {
        return None;
    }
    test_scope(&words)
}

fn test_scope(words: &[&str]) -> Option<Scope> {
    let (first, rest) = words.split_first()?;
    let plain = || rest.iter().copied().filter(|word| !word.starts_with(['-', '+']));
    match base_name(first) {
        "cargo" => cargo(rest),
        "pytest" | "py.test" => {
            Some(narrowed(rest, &["-k", "-m", "--lf", "--ff", "--deselect", "--ignore", "--last-failed"]))
        }
        "python" | "python3" | "py" => match rest {
            ["-m", "pytest", rest @ ..] => test_scope(&[&["pytest"], rest].concat()),
            ["-m", "unittest", rest @ ..] => {
                Some(narrowed(&rest.iter().copied().filter(|w| *w != "discover").collect::<Vec<_>>(), &["-k", "-p"]))
            }
            [script, rest @ ..] if base_name(script) == "manage.py" && rest.first() == Some(&"test") => {
                Some(narrowed(&rest[1..], &["-k", "--tag"]))
            }
            [script, rest @ ..] if is_test_script(script) => Some(narrowed(rest, &[])),
            _ => None,
        },
        "npm" | "pnpm" | "yarn" | "bun" => package_script(rest),
        "npx" | "bunx" | "pnpx" => test_scope(&rest[flags(rest)..]),
        "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" if rest.first() == Some(&"run") => test_scope(&rest[1..]),
        "bundle" if rest.first() == Some(&"exec") => test_scope(&rest[1..]),
        "jest" | "vitest" | "mocha" | "ava" | "cypress" | "phpunit" | "rspec" | "tox" | "nox" | "ctest" => {
            Some(narrowed(
                &rest.iter().copied().filter(|w| *w != "run").collect::<Vec<_>>(),
                &[
                    "-t",
                    "--testNamePattern",
                    "-o",
                    "--grep",
                    "-g",
                    "--filter",
                    "-R",
                    "-e",
                    "--related",
                    "--changed",
                    "--testPathPattern",
                ],
            ))
        }
        "playwright" if rest.first() == Some(&"test") => Some(narrowed(&rest[1..], &["--grep", "-g", "--last-failed"])),
        "node" if rest.contains(&"--test") => Some(narrowed(rest, &["--test-name-pattern", "--test-only"])),
        "go" if rest.first() == Some(&"test") => {
            let named = rest.iter().find(|word| matches!(word.split('=').next(), Some("-run" | "--run" | "-short")));
            let all = plain().any(|word| word.ends_with("..."));
            Some(named.map_or_else(
                || if all { Scope::Whole } else { Scope::Part("one package".to_owned()) },
                |word| Scope::Part((*word).to_owned()),
            ))
        }
        "make" | "gmake" | "just" | "task" | "rake" => {
            let target = plain().find(|word| word.contains("test") || matches!(*word, "check" | "verify" | "spec"))?;
            let whole = matches!(target, "test" | "tests" | "check" | "verify" | "test-all" | "all-tests" | "spec");
            Some(if whole { Scope::Whole } else { Scope::Part(target.to_owned()) })
        }
        "mvn" | "mvnw" => {
            plain().find(|word| matches!(*word, "test" | "verify" | "package" | "install"))?;
            let part = rest.iter().find(|word| word.starts_with("-Dtest") || word.starts_with("-pl"));
            Some(part.map_or(Scope::Whole, |part| Scope::Part((*part).to_owned())))
        }
        "gradle" | "gradlew" => {
            plain().find(|word| matches!(word.rsplit(':').next(), Some("test" | "check" | "build")))?;
            let part = rest.iter().find(|word| word.starts_with("--tests"));
            Some(part.map_or(Scope::Whole, |part| Scope::Part((*part).to_owned())))
        }
        "dotnet" | "swift" | "mix" | "sbt" | "bazel" | "deno" | "flutter" | "dart" | "zig" => {
            plain().find(|word| *word == "test")?;
            let part = rest.iter().find(|word| word.starts_with("--filter") || word.starts_with("--only"));
            Some(part.map_or(Scope::Whole, |part| Scope::Part((*part).to_owned())))
        }
        "sh" | "bash" | "zsh" | "ruby" | "perl" | "php" => match &rest[flags(rest)..] {
            [script, rest @ ..] if is_test_script(script) => Some(narrowed(rest, &[])),
            _ => None,
        },
        _ if first.contains('/') && is_test_script(first) => Some(narrowed(rest, &[])),
        _ => None,
    }
}

fn flags(words: &[&str]) -> usize {
    words.iter().take_while(|word| word.starts_with('-')).count()
}

fn cargo(rest: &[&str]) -> Option<Scope> {
    const NARROW: [&str; 14] = [
        "-p",
        "--package",
        "--lib",
        "--bins",
        "--bin",
        "--test",
        "--doc",
        "--example",
        "--examples",
        "--exclude",
        "-E",
        "--skip",
        "--exact",
        "--ignored",
    ];
    const TAKES: [&str; 9] =
        ["--features", "-F", "--target", "--manifest-path", "--profile", "-j", "--jobs", "--test-threads", "--color"];
    let at = rest.iter().position(|word| !word.starts_with(['-', '+']))?;
    let (["test" | "t", arguments @ ..] | ["nextest", "run" | "r", arguments @ ..]) = &rest[at..] else { return None };
    let mut skip = false;
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        let name = word.split('=').next().unwrap_or(word);
        if NARROW.contains(&name) || !word.starts_with('-') {
            return Some(Scope::Part((*word).to_owned()));
        }
        skip = TAKES.contains(word);
    }
    Some(Scope::Whole)
}

fn package_script(rest: &[&str]) -> Option<Scope> {
    let at = rest.iter().position(|word| !word.starts_with('-'))?;
    let (script, arguments) = match &rest[at..] {
        ["run" | "run-script", script, arguments @ ..] => (*script, arguments),
        ["exec" | "x" | "dlx", inner @ ..] => return test_scope(inner),
        ["test" | "t" | "tst", arguments @ ..] => ("test", arguments),
        [direct @ ("jest" | "vitest" | "mocha" | "playwright"), arguments @ ..] => {
            return test_scope(&[&[*direct], arguments].concat());
        }
        _ => return None,
    };
    if !script.split([':', '-', '_']).any(|part| matches!(part, "test" | "tests" | "spec" | "check")) {
        return None;
    }
    if !matches!(script, "test" | "tests" | "check" | "test:all" | "test-all" | "test:ci") {
        return Some(Scope::Part(script.to_owned()));
    }
    Some(narrowed(arguments, &["-t", "--grep", "-g", "--testNamePattern", "--filter", "--testPathPattern"]))
}

/// Narrowed by an option, or by a path or a name; the folder of all tests narrows nothing.
fn narrowed(arguments: &[&str], options: &[&str]) -> Scope {
    const ALL: [&str; 8] = [".", "./", "test", "tests", "test/", "tests/", "./tests", "./..."];
    const TAKES: [&str; 28] = [
        "-n",
        "--reporter",
        "--config",
        "-c",
        "--maxfail",
        "--tb",
        "-p",
        "-o",
        "--timeout",
        "--workers",
        "-j",
        "--cov",
        "-s",
        "-t",
        "-W",
        "--durations",
        "--junitxml",
        "--cov-report",
        "--maxWorkers",
        "-w",
        "-r",
        "--require",
        "--test-reporter",
        "--test-dir",
        "-C",
        "--import",
        "--env",
        "--configuration",
    ];
    let mut skip = false;
    for word in arguments {
        if std::mem::take(&mut skip) {
            continue;
        }
        let name = word.split('=').next().unwrap_or(word);
        if options.contains(&name) {
            return Scope::Part((*word).to_owned());
        }
        skip = TAKES.contains(word);
        // A bare number belongs to the option before it.
        if !word.starts_with('-') && !ALL.contains(word) && !word.bytes().all(|byte| byte.is_ascii_digit()) {
            return Scope::Part((*word).to_owned());
        }
    }
    Scope::Whole
}

/// `run-tests.sh`, `scripts/test`, `checks/all_tests.py`.
fn is_test_script(path: &str) -> bool {
    let name = base_name(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or(&name);
    stem.split(['-', '_']).any(|part| matches!(part, "test" | "tests" | "check" | "checks" | "spec" | "runtests"))
}

/// True if the step builds, lints or checks types, as `subject` asks.
pub(super) fn builds(words: &[String], subject: &str) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(&word.rsplit(':').next().unwrap_or(word)));
    let program = base_name(first);
    match subject {
        "lint" => match program {
            "cargo" => has(&["clippy"]),
            "npm" | "pnpm" | "yarn" | "bun" | "make" | "just" => has(&["lint"]),
            "npx" => has(&["eslint", "biome", "oxlint"]),
            _ => ["eslint", "ruff", "flake8", "pylint", "golangci-lint", "biome", "shellcheck", "rubocop"]
                .contains(&program),
        },
        "typecheck" => match program {
            "cargo" => has(&["check", "clippy", "build"]),
            "npm" | "pnpm" | "yarn" | "bun" | "make" => has(&["typecheck", "type-check", "types"]),
            "npx" => has(&["tsc"]),
            _ => ["tsc", "mypy", "pyright", "pyre"].contains(&program),
        },
        _ => is_build(program, rest, &has),
    }
}

fn is_build(program: &str, rest: &[&str], has: &impl Fn(&[&str]) -> bool) -> bool {
    match program {
        "cargo" => has(&["build", "b", "check", "clippy", "test", "run", "install"]),
        "npm" | "pnpm" | "yarn" | "bun" => has(&["build", "compile", "bundle"]),
        "npx" => has(&["tsc", "vite", "webpack", "rollup", "esbuild"]),
        "go" => has(&["build", "vet", "install", "test"]),
        "make" | "gmake" | "just" | "ninja" => {
            rest.iter().all(|word| word.starts_with('-')) || has(&["build", "all", "compile", "release"])
        }
        "mvn" | "mvnw" => has(&["compile", "package", "verify", "install"]),
        "gradle" | "gradlew" => has(&["build", "assemble", "compileJava", "classes"]),
        "dotnet" | "swift" | "docker" | "bazel" | "zig" | "vite" | "flutter" | "meson" => has(&["build", "compile"]),
        "cmake" => has(&["--build"]),
        "python" | "python3" => has(&["build", "compileall", "py_compile"]),
        "sh" | "bash" => rest.iter().any(|word| base_name(word).starts_with("build")),
        "tsc" | "webpack" | "rollup" | "esbuild" | "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "rustc"
        | "javac" | "kotlinc" | "xcodebuild" => true,
        other => other.starts_with("build"),
    }
}

/// Paths that the step may change, as written; an empty path means: any.
pub(super) fn edits(step: &Step) -> Vec<String> {
    const CHANGES: [&str; 13] = [
        "apply",
        "checkout",
        "restore",
        "reset",
        "stash",
        "merge",
        "rebase",
        "pull",
        "cherry-pick",
        "revert",
        "am",
        "switch",
        "clean",
    ];
    let words: Vec<&str> = step.words.iter().map(String::as_str).collect();
    let mut found = step.into.clone();
    let Some((first, rest)) = words.split_first() else { return found };
    let plain = || rest.iter().copied().filter(|word| !word.starts_with('-')).map(str::to_owned);
    let any = || vec![String::new()];
    let flag = |names: &[&str]| rest.iter().any(|word| names.contains(word));
    match base_name(first) {
        "sed" | "perl" if rest.iter().any(|word| word.starts_with("-i") || word.starts_with("-pi")) => {
            found.extend(plain().skip(1));
        }
        "tee" | "touch" | "rm" | "mkdir" | "truncate" | "mv" => found.extend(plain()),
        "cp" | "install" | "ln" => found.extend(plain().next_back()),
        "dd" => found.extend(rest.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned)),
        "patch" => found.extend(any()),
        "git" => {
            let verb = rest.iter().find(|word| !word.starts_with('-'));
            // A new branch changes no file.
            let branches = flag(&["-b", "-B", "-c", "-C"]) && flag(&["checkout", "switch"]);
            if verb.is_some_and(|verb| CHANGES.contains(verb)) && !branches {
                found.extend(any());
            }
        }
        "cargo" if flag(&["fmt", "fix", "--fix"]) && !flag(&["--check"]) => found.extend(any()),
        "prettier" | "eslint" | "biome" | "npx" if flag(&["--write", "--fix"]) => found.extend(any()),
        "ruff" if flag(&["--fix", "format"]) && !flag(&["--check"]) => found.extend(any()),
        "black" | "isort" | "rustfmt" if !flag(&["--check"]) => found.extend(any()),
        "gofmt" | "goimports" if flag(&["-w"]) => found.extend(any()),
        _ => {}
    }
    found.retain(|path| !path.starts_with("/dev/"));
    found
}

/// True if the step shows how the running thing behaves: a request, a browser, or the program itself.
pub(super) fn observes(words: &[String], artifact: Option<&str>) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let has = |names: &[&str]| rest.iter().any(|word| names.contains(word));
    if let Some(artifact) = artifact {
        let named = |word: &&str| word.trim_start_matches("./") == artifact.trim_start_matches("./");
        return words.iter().any(named);
    }
    match base_name(first) {
        "curl" | "wget" | "http" | "httpie" | "xh" | "playwright" | "puppeteer" | "chromium" | "google-chrome"
        | "adb" | "xcrun" | "screencapture" | "scrot" | "import" | "ssh" => true,
        "npx" => has(&["playwright", "cypress"]),
        "cargo" | "go" | "dotnet" | "flutter" | "swift" => rest.first() == Some(&"run"),
        "npm" | "pnpm" | "yarn" | "bun" => has(&["start", "e2e", "dev"]),
        "python" | "python3" | "node" | "ruby" | "deno" | "java" | "php" => {
            rest.iter().any(|word| !word.starts_with('-')) && !has(&["-c", "-e", "pytest", "unittest", "--test"])
        }
        _ => first.contains('/') && ["target/", "build/", "dist/", "bin/", "out/"].iter().any(|f| first.contains(f)),
    }
}

/// True if the step builds the thing that it then runs.
pub(super) fn builds_first(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words[..], ["cargo" | "go" | "dotnet" | "swift" | "flutter", "run", ..])
}

#[cfg(test)]
mod tests {
    use super::super::shell::steps;
    use super::*;

    fn scope(line: &str) -> Option<Scope> {
        steps(line).iter().find_map(|step| tests(&step.words, &["sh checks/all.sh".to_owned()]))
    }

    #[test]
    fn a_test_run_is_known_by_its_words_and_so_is_what_narrows_it() {
        for whole in [
            "cargo test",
            "cargo +nightly test --workspace --all-features",
            "cargo test --features x -- --test-threads 1",
            "cargo nextest run",
            "pytest",
            "pytest -q tests/",
            "python -m pytest -x",
            "uv run pytest -n 4 -W ignore",
            "npx jest --ci --silent 2",
            "npm test",
            "yarn test",
            "npx jest --ci",
            "npx vitest run",
            "node --test",
            "go test ./...",
            "make test",
            "mvn -q verify",
            "./gradlew test",
            "./run-tests.sh",
            "sh checks/all.sh",
            "bash scripts/test.sh",
        ] {
            assert_eq!(scope(whole), Some(Scope::Whole), "{whole}");
        }
        for part in [
            "cargo test parser",
            "cargo test -p core",
            "cargo test --lib",
            "cargo test -- --skip slow",
            "pytest -k fast",
            "pytest tests/test_a.py",
            "pytest tests/test_a.py::test_b",
            "npm test -- --grep x",
            "npm run test:unit",
            "npx jest src/a.test.js",
            "go test ./pkg",
            "go test -run TestA ./...",
            "make test-unit",
            "mvn -Dtest=A test",
        ] {
            assert!(matches!(scope(part), Some(Scope::Part(_))), "{part}: {:?}", scope(part));
        }
        for none in [
            "cargo build",
            "cargo test --no-run",
            "pytest --collect-only",
            "npm run lint",
            "echo cargo test",
            "git log",
            "cat test.sh",
        ] {
            assert_eq!(scope(none), None, "{none}");
        }
    }

    #[test]
    fn an_edit_by_the_shell_is_seen() {
        for (line, expected) in [
            ("sed -i s/a/b/ src/a.rs", &["src/a.rs"][..]),
            ("echo x > b.rs", &["b.rs"]),
            ("cargo fmt", &[""]),
            ("git checkout -- x", &[""]),
            ("cargo fmt --check", &[]),
            ("git checkout -b x", &[]),
            ("git commit -m x", &[]),
            ("cargo test > /dev/null", &[]),
        ] {
            let found: Vec<String> = steps(line).iter().flat_map(edits).collect();
            assert_eq!(found, expected, "{line}");
        }
    }
}
