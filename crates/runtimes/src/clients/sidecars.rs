//! Which files a client keeps beside a transcript, and where they are.
//! Not the search for them, nor what is kept of them, which is the engine's.

use std::path::{Path, PathBuf};

/// What a file beside a transcript is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidecarKind {
    /// What the transcript names and does not hold: long outputs of tools, what is known of a subagent.
    Result,
    /// A file of the user's as it was before the agent changed it. The client writes it back when it is asked to rewind.
    Backup,
}

/// A folder in which a client keeps such files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SidecarFolder {
    /// Its name.
    pub name: &'static str,
    /// What its files are for.
    pub kind: SidecarKind,
    /// Whether its files belong to transcripts of subagents, which are beside it: without these they say nothing.
    pub is_of_subagents: bool,
    /// Where it is.
    pub at: SidecarPlace,
}

/// Where a folder of such files is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SidecarPlace {
    /// In the folder beside the transcript that has the transcript's name.
    BesideTranscript,
    /// In the client's configuration directory, with a folder for each session.
    Home,
    /// Beside the folder that the transcripts of a project are in, with a folder for each session whose name begins so.
    Project {
        /// What stands before the session's id.
        prefix: &'static str,
    },
}

/// The files that a client keeps beside a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sidecars {
    /// The folder of the configuration directory that the transcripts are below.
    pub transcripts: &'static str,
    /// Where the files are.
    pub folders: &'static [SidecarFolder],
    /// How the names of files begin that are transcripts themselves.
    pub transcript_prefix: &'static str,
}

/// Levels of folders within a session's folder that are looked into at most: clients were seen to use three.
pub const SIDECAR_DEPTH_MAX: usize = 8;

impl Sidecars {
    /// Returns the folders of a session, whether they are there or not.
    pub fn folders(&self, transcript: &Path, session: &str) -> Vec<(&'static SidecarFolder, PathBuf)> {
        let beside = transcript.file_stem().map(|stem| transcript.with_file_name(stem));
        let is_named = |folder: &&Path| folder.file_name().is_some_and(|name| name == self.transcripts);
        let home = transcript.ancestors().skip(1).find(is_named).and_then(Path::parent);
        let project = transcript.parent().and_then(Path::parent);
        let place = |folder: &'static SidecarFolder| {
            let own = match folder.at {
                SidecarPlace::BesideTranscript => beside.as_ref()?.join(folder.name),
                SidecarPlace::Home => home?.join(folder.name).join(session),
                SidecarPlace::Project { prefix } => {
                    project?.join(folder.name).join(format!("{prefix}{session}"))
                }
            };
            Some((folder, own))
        };
        self.folders.iter().filter_map(place).collect()
    }

    /// Returns where a file of a folder goes for a session whose transcript is there. None where that client keeps no such files
    /// there, and for names that lead out of the folder.
    pub fn place(
        &self,
        (transcript, session): (&Path, &str),
        folder: &SidecarFolder,
        names: &[&str],
    ) -> Option<PathBuf> {
        let own = self.folders(transcript, session).into_iter().find(|(own, _)| own.name == folder.name)?.1;
        is_inside(names).then(|| names.iter().fold(own, |path, name| path.join(name)))
    }

    /// Returns which folder of a session a file was in and the rest of its path there, from its path on any machine. None for
    /// what is in none of them, and for a path that leads out of its folder.
    pub fn within<'p>(&self, path: &'p str, session: &str) -> Option<(&'static SidecarFolder, Vec<&'p str>)> {
        let parts: Vec<&str> = path.split(['/', '\\']).collect();
        let found = self.folders.iter().find_map(|folder| {
            let is_session = |part: &&str| match folder.at {
                SidecarPlace::BesideTranscript | SidecarPlace::Home => *part == session,
                SidecarPlace::Project { prefix } => part.strip_prefix(prefix) == Some(session),
            };
            let at = parts.iter().rposition(is_session)?;
            let (beside, behind) = match folder.at {
                SidecarPlace::BesideTranscript => (parts.get(at + 1), at + 2),
                SidecarPlace::Home | SidecarPlace::Project { .. } => (parts.get(at.checked_sub(1)?), at + 1),
            };
            (beside == Some(&folder.name)).then_some((folder, behind))
        });
        let (folder, behind) = found?;
        let rest = parts.get(behind..)?.to_vec();
        is_inside(&rest).then_some((folder, rest))
    }

    /// Returns whether a file in one of the folders is a transcript, which is captured as one.
    pub fn is_transcript(&self, name: &str) -> bool {
        name.starts_with(self.transcript_prefix)
            && Path::new(name).extension().is_some_and(|ending| ending == "jsonl")
    }
}

/// Returns what a client keeps in a folder of this name that is in the folder beside a transcript.
pub fn sidecar_folder(name: &str) -> Option<&'static Sidecars> {
    let is_beside =
        |folder: &SidecarFolder| folder.at == SidecarPlace::BesideTranscript && folder.name == name;
    let all = super::ALL.iter().filter_map(|client| client.sidecars);
    all.into_iter().find(|kept| kept.folders.iter().any(is_beside))
}

/// Says whether names lead to a file in a folder.
fn is_inside(names: &[&str]) -> bool {
    let is_plain = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains([':', '/', '\\', '\0']);
    !names.is_empty() && names.len() <= SIDECAR_DEPTH_MAX && names.iter().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude_code::CLIENT;

    const SESSION: &str = "5e1f0000-0000-4000-8000-000000000001";

    #[test]
    fn what_a_client_keeps_beside_a_session_is_found_and_named() {
        let sidecars = CLIENT.sidecars.expect("it keeps some");
        let transcript = format!("/home/u/.claude/projects/-w/{SESSION}.jsonl");
        let folders = sidecars.folders(Path::new(&transcript), SESSION);
        let places: Vec<&str> = folders.iter().filter_map(|(_, place)| place.to_str()).collect();
        assert_eq!(
            places,
            [
                format!("/home/u/.claude/projects/-w/{SESSION}/tool-results"),
                format!("/home/u/.claude/projects/-w/{SESSION}/subagents"),
                format!("/home/u/.claude/projects/-w/{SESSION}/workflows"),
                format!("/home/u/.claude/file-history/{SESSION}"),
            ]
        );
        for (folder, place) in &folders {
            let file = place.join("a").join("b@v1");
            let found = sidecars.within(file.to_str().expect("a path"), SESSION);
            assert_eq!(found, Some((*folder, vec!["a", "b@v1"])), "a file is named as it was found");
        }
        // Elsewhere there is no configuration directory to be known.
        let elsewhere = sidecars.folders(Path::new("/data/s.jsonl"), "s");
        assert!(elsewhere.iter().all(|(folder, _)| folder.at != SidecarPlace::Home) && elsewhere.len() == 3);
        assert!(sidecars.is_transcript("agent-a1.jsonl") && !sidecars.is_transcript("journal.jsonl"));
        let windows = format!(r"C:\Users\u\.claude\file-history\{SESSION}\0a@v2");
        assert!(sidecars.within(&windows, SESSION).is_some_and(|(_, rest)| rest == ["0a@v2"]));
    }

    #[test]
    fn a_folder_beside_that_of_the_transcripts_names_its_sessions() {
        let sidecars = crate::gemini::CLIENT.sidecars.expect("it keeps some");
        let transcript = "/home/u/.gemini/tmp/w/chats/session-2026-11-21T20-28-7e6b9c24.jsonl";
        let folders = sidecars.folders(Path::new(transcript), SESSION);
        let place = format!("/home/u/.gemini/tmp/w/tool-outputs/session-{SESSION}");
        assert_eq!(folders.iter().map(|(_, own)| own.to_str()).collect::<Vec<_>>(), [Some(place.as_str())]);
        let file = format!("{place}/shell_1.txt");
        let found = sidecars.within(&file, SESSION);
        assert_eq!(found, Some((folders[0].0, vec!["shell_1.txt"])));
    }

    #[test]
    fn no_name_leads_out_of_its_folder() {
        let sidecars = CLIENT.sidecars.expect("it keeps some");
        for rest in ["", "../../x", "a/../../x", "a//b", ".", "..", "C:x"] {
            let path = format!("/home/u/.claude/file-history/{SESSION}/{rest}");
            assert_eq!(sidecars.within(&path, SESSION), None, "{rest}");
        }
        let deep = format!("/p/{SESSION}/tool-results/{}", ["a"; SIDECAR_DEPTH_MAX + 1].join("/"));
        assert_eq!(sidecars.within(&deep, SESSION), None);
        let another = format!("/p/{SESSION}/memory/a");
        assert_eq!(sidecars.within(&another, SESSION), None);
    }
}
