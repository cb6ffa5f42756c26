//! New tasks that a report brings, put into the backlog as they are.

use super::pages::is_of;
use super::{BooksError, Desk, index, one_line};
use crate::host::path::RepoPath;
use crate::task::layout::{ContextName, Folder, Layout};
use crate::task::read_task;
use crate::worker::blocks::Document;

pub(super) fn write(desk: &mut Desk<'_>, layout: Layout, documents: &[Document]) -> Result<(), BooksError> {
    for document in documents {
        let fault = |what: String| BooksError::Report {
            block: "BACKLOG_ITEMS",
            what: format!("{}: {what}", document.file_name),
        };
        let name = RepoPath::from(document.file_name.as_str());
        let text = format!("{}\n", document.body);
        let task = read_task(text.as_bytes(), &name).map_err(|why| fault(why.to_string()))?;
        let id = task.id.clone().ok_or_else(|| fault("it has no id".to_owned()))?;
        if !is_of(&name, id.as_str()) || document.file_name.contains('/') || !name.is_safe() {
            return Err(fault(format!("a file of {id} is named `{id}-<slug>.md`")));
        }
        let context = ContextName::new(id.context()).map_err(|why| fault(why.to_string()))?;
        let (contexts, _) = layout.contexts(desk.pages.names());
        if !contexts.contains(&context) {
            return Err(fault(format!("there is no context `{context}`")));
        }
        if let Some(other) = desk.names().find(|path| layout.place(path).is_some() && is_of(path, id.as_str())) {
            return Err(fault(format!("{id} is taken by {other}")));
        }
        let place = format!("{}/{}", layout.folder(&context, Folder::Backlog), document.file_name);
        let kind = one_line(&task.commit_type());
        let line = format!("- **{id}** — {} ({kind}) — `backlog/{}`", one_line(&task.title), document.file_name);
        desk.put(RepoPath::from(place.as_str()), text);
        index::backlog(desk, layout, &context, id.as_str(), &line)?;
    }
    Ok(())
}
