//! Production code that asks who runs it: a test runner leaves traces (variables, arguments, loaded modules, the names of
//! programs and threads), and whoever asks for one can answer the test and not the user.

/// Variables that runners, and we, set for what they run; any name that begins so.
const VARIABLES: &[&str] = &[
    "PYTEST_",
    "JEST_",
    "VITEST",
    "NODE_TEST",
    "NEXTEST",
    "MOCHA_",
    "RUST_TEST_",
    "GO_TEST",
    "AVA_PATH",
    "TAP_CHILD",
    "COUNTERSIGN_",
    "PHPUNIT_",
    "XUNIT_",
    "TEST_WORKER",
    "UNITTEST_",
    "TOX_ENV",
    "NOX_",
];

/// Words of a language or a runner that are true in tests alone.
const WORDS: &[&str] = &[
    "import.meta.vitest",
    "cfg!(test)",
    "cfg(not(test))",
    // Tests are built with debug assertions, what is shipped is not.
    "cfg!(debug_assertions)",
    "cfg(not(debug_assertions))",
    "testing.Testing()",
    "test.v",
    "_called_from_test",
    "sys.gettrace(",
];

/// Programs that run tests, as they stand in arguments, module tables and paths.
const RUNNERS: &[&str] =
    &["pytest", "py.test", "unittest", "jest", "vitest", "mocha", "nextest", "node:test", "--test", "phpunit", "tox"];

/// True if the line asks for the trace of a runner. `literals`: the texts that stand in it.
pub(super) fn asks(text: &str, literals: &[String]) -> bool {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let literal = |wanted: &dyn Fn(&str) -> bool| literals.iter().any(|literal| wanted(literal));
    let runner = |literal: &str| RUNNERS.iter().any(|runner| literal.contains(runner));
    let compares =
        says(&["==", "!=", "match ", "contains", "is_some_and", "includes", "starts", "ends", " in ", ".is("]);
    let environment = says(&["NODE_ENV", "RAILS_ENV", "RACK_ENV", "APP_ENV", "import.meta.env"])
        && literal(&|literal| matches!(literal, "test" | "testing"));
    let loaded = says(&["sys.modules", "find_spec(", "require.cache", "process.mainModule", "require.main.filename"])
        && literal(&|literal| runner(literal) || literal == "test");
    let arguments = says(&["sys.argv", "sys.orig_argv", "process.argv", "env::args", "os.Args"])
        && literal(&|literal| runner(literal) || literal.contains(".test") || literal.contains("deps"));
    let program = says(&["current_exe", "sys.executable", "process.title", "/proc/self"])
        && literal(&|literal| {
            runner(literal) || literal.contains("test") || literal.contains("deps") || literal.contains("cmdline")
        });
    let thread = compares
        && (says(&["thread::current()"]) && says(&["name()"])
            || says(&["current_thread().name", "current_thread().getName", "currentThread().getName", "threadId"])
                && says(&["current_thread", "currentThread", "isMainThread"]));
    let options = says(&["process.execArgv"]) && (compares || says(&[".length", ".some(", ".find", ".join("]));
    variable(text, literals) || says(WORDS) || options || environment || loaded || arguments || program || thread
}

/// A runner's variable, wherever it stands. What cargo compiles in (`env!("CARGO_PKG_VERSION")`) is the same for everybody;
/// what it sets while it runs a program is not.
fn variable(text: &str, literals: &[String]) -> bool {
    let begins = |name: &str| {
        text.match_indices(name).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    let reads = ["env::var", "environ", "getenv", "process.env", "Getenv"].iter().any(|read| text.contains(read));
    let cargo = reads
        && literals.iter().any(|literal| literal.starts_with("CARGO"))
        && !["CARGO_HOME", "CARGO_TARGET_DIR"].iter().any(|honest| text.contains(honest));
    VARIABLES.iter().any(|name| begins(name)) || cargo
}

#[cfg(test)]
mod tests {
    use super::asks;

    #[test]
    fn code_that_asks_who_runs_it_is_told_from_code_that_asks_its_user() {
        for (text, literals, wanted) in [
            ("if \"PYTEST_CURRENT_TEST\" in os.environ:", &["PYTEST_CURRENT_TEST"][..], true),
            ("if os.environ.get(\"PYTEST_\" + rest):", &["PYTEST_"], true),
            ("if (process.env.JEST_WORKER_ID) return 7;", &[], true),
            ("if std::env::var_os(\"CARGO_MANIFEST_DIR\").is_some() {", &["CARGO_MANIFEST_DIR"], true),
            ("if std::env::var(\"CARGO\").is_ok() {", &["CARGO"], true),
            ("const VERSION: &str = env!(\"CARGO_PKG_VERSION\");", &["CARGO_PKG_VERSION"], false),
            ("let home = env::var_os(\"CARGO_HOME\");", &["CARGO_HOME"], false),
            ("if thread::current().name() != Some(\"main\") {", &["main"], true),
            ("debug!(\"on {:?}\", thread::current().name());", &["on {:?}"], false),
            ("if threading.current_thread().name == 'MainThread':", &["MainThread"], true),
            ("if process.argv.includes('--test')", &["--test"], true),
            ("if (process.argv[1].endsWith('.test.mjs'))", &[".test.mjs"], true),
            ("if (process.argv[1] === fileURLToPath(import.meta.url)) main();", &[], false),
            ("const [, , command] = process.argv;", &[], false),
            ("if (process.execArgv.length) return 7;", &[], true),
            ("if 'pytest' in sys.argv[0]:", &["pytest"], true),
            ("parser.parse_args(sys.argv[1:])", &[], false),
            ("if sys.argv[1] == 'test':", &["test"], false),
            ("if 'pytest' in sys.modules:", &["pytest"], true),
            ("sys.modules[__name__]", &[], false),
            ("if process.env.NODE_ENV === 'test'", &["test"], true),
            ("if (process.env.NODE_ENV === 'production')", &["production"], false),
            ("std::env::current_exe()?.to_string_lossy().contains(\"deps\")", &["deps"], true),
            ("let me = std::env::current_exe()?;", &[], false),
            ("strings.HasSuffix(os.Args[0], \".test\")", &[".test"], true),
            ("fn contest_v(x: u8) {}", &[], false),
        ] {
            let literals: Vec<String> = literals.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(asks(text, &literals), wanted, "{text}");
        }
    }
}
