//! `countersign completions` and `countersign man`: what the command line says of itself, for shells and for `man`.

use super::args::{Cli, ManArgs};
use super::console::Console;
use super::exit_code::ExitCode;
use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::Path;

/// Prints the completions for a shell.
pub(super) fn completions(shell: Shell, console: &mut Console) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "countersign", &mut script);
    console.answer(String::from_utf8_lossy(&script).trim_end());
    ExitCode::Pass
}

/// Prints the page of the program, or writes a page for it and each of its commands into a folder.
pub(super) fn man(args: &ManArgs, start: &Path, console: &mut Console) -> anyhow::Result<ExitCode> {
    let pages = pages()?;
    let Some(folder) = &args.output else {
        let (_, page) = pages.first().context("there is no page")?;
        console.answer(String::from_utf8_lossy(page).trim_end());
        return Ok(ExitCode::Pass);
    };
    let folder = start.join(folder);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}; name another", folder.display()))?;
    for (name, page) in pages {
        let file = folder.join(&name);
        std::fs::write(&file, page).with_context(|| format!("cannot write {}; name another folder", file.display()))?;
        console.answer(&name);
    }
    Ok(ExitCode::Pass)
}

/// Every page with its file name, the program's own first.
fn pages() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    collect(&program, "countersign", &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, name: &str, pages: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    // A page is found by the command's words joined with hyphens, as git's pages are.
    let page = clap_mangen::Man::new(command.clone())
        .title(name.to_uppercase())
        .source(concat!("countersign ", env!("CARGO_PKG_VERSION")))
        .manual("countersign");
    let mut bytes = Vec::new();
    page.render(&mut bytes).with_context(|| format!("cannot render the page {name}"))?;
    pages.push((format!("{name}.1"), bytes));
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, &format!("{name}-{}", inner.get_name()), pages)?;
    }
    Ok(())
}
