//! Programs that play a part in the tests. Nothing here is trusted by what it plays for.

pub(crate) mod model;
