//! Programs that show the project at work; see each folder.
