//! What errors are about: names to compare, and the words of each.

use stemmata_runtimes::clients::DATABASE;

/// Declares an enum whose variants have words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$said:meta])* $variant:ident = $words:expr,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$said])* $variant,)*
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(match self {
                    $(Self::$variant => $words,)*
                })
            }
        }
    };
}

words! {
    /// What was looked for by a name.
    Wanted {
        /// A commit by its id or the beginning of one.
        Commit = "commit",
        /// The commit of a session that has one.
        CommitOfSession = "commit of session",
        /// A commit so far back along a chain.
        EarlierCommit = "earlier commit",
        /// A session of the current directory, where no directory is known.
        Here = "session of a directory",
        /// A session.
        Session = "session",
        /// A session in the database of its client.
        SessionInDatabase = DATABASE.session_shown,
        /// An entry of a chain.
        Entry = "entry of this chain",
        /// An entry of what the model sees of a chain.
        EntryInContext = "entry of the context (what is hidden or summarized is not in it)",
        /// Something that was forgotten.
        Forgotten = "forgotten commit, session or transcript",
        /// A ledger.
        Ledger = "ledger",
        /// A decision that holds.
        Decision = "decision",
        /// A task that is not done.
        OpenTask = "open task",
        /// An open thread.
        OpenThread = "open thread",
        /// A line of a file.
        Line = "line",
        /// A transcript, by its file or its session.
        Transcript = "file or session",
        /// An event that still says something.
        EventWithText = "event that says something",
        /// An event of a session that has only a transcript.
        EventOfTranscript = "event (only a captured transcript)",
    }
}

words! {
    /// What a place or a time has none of, with the word that leads to the place.
    Absent {
        /// A compaction.
        Compaction = "compaction at or before",
        /// A checkpoint.
        Checkpoint = "checkpoint at or before",
        /// A session of a directory.
        SessionBelow = "session that worked in or below",
        /// A session that many before the newest of a directory.
        OlderSession = "session that far back:",
        /// A session at all.
        Session = "session yet",
        /// A ledger of the project that a directory is in.
        Ledger = "ledger of the project of",
        /// Something that may have sound copies.
        Copy = "store, backup or bundle at",
        /// A project's own rules for secrets.
        ProjectRules = ".stemmata/secrets.toml",
    }
}

words! {
    /// What was refused.
    Refusal {
        /// A backup.
        Backup = "a backup",
        /// Writing the bundle.
        WriteBundle = "writing the bundle",
        /// The hook.
        GitHook = "the hook",
        /// Reading a range of an artifact.
        ReadText = "reading it as text",
        /// Loading a checkpoint file.
        LoadCheckpoint = "loading the checkpoint",
        /// A checkpoint of more than its file holds.
        SaveCheckpoint = "saving the checkpoint",
        /// Setting damaged lines of a ledger aside.
        RepairLedger = "setting damaged lines aside",
        /// The repair.
        Repair = "the repair",
        /// Giving a transcript back.
        GiveBack = "recovering the transcript",
        /// A compaction.
        CapturedCompaction = "a compaction",
        /// Reading a folder of events.
        ReadEvents = "reading a folder of events",
        /// Reading a session.
        ReadSession = "reading a session",
        /// Searching a folder.
        SearchFolder = "searching a folder",
        /// Reading the chain.
        ReadChain = "reading the chain",
        /// Unpacking a transcript.
        Unpack = "unpacking a transcript",
        /// The subscription.
        Subscribe = "the subscription",
        /// Acknowledging events.
        Acknowledge = "acknowledging events",
        /// Making a cluster.
        MakeCluster = "making a cluster",
        /// The import.
        ImportCluster = "the import",
        /// Forgetting in all ledgers.
        ForgetEverywhere = "forgetting in all ledgers",
        /// Finding the project.
        FindProject = "finding the project",
        /// Adopting the folder.
        AdoptFolder = "adopting the folder",
        /// Making a project.
        MakeProject = "making a project",
        /// Publishing an event.
        Publish = "publishing an event",
        /// Packing in the background.
        PackBehind = "packing in the background",
        /// Trust in rules for secrets.
        TrustRules = "trust in rules for secrets",
        /// Storing a document.
        StoreDocument = "storing a document",
        /// A turn whose session goes on from something else.
        BeginTurn = "beginning the turn",
        /// An entry whose id stands for other content already.
        EntryTaken = "storing the entry",
        /// To store a call whose request stands for another one, or is none.
        RequestTaken = "storing the call",
        /// A turn of a session that was forgotten meanwhile.
        TurnForgotten = "storing the turn",
        /// A turn that others overtook again and again.
        TurnBusy = "storing the turn",
        /// A turn of a session that nobody has begun.
        TurnNotBegun = "storing the turn",
        /// A turn whose task depends on itself.
        TaskCycle = "naming the task",
        /// A fork before the first entry.
        ForkBeforeFirst = "a fork before the first entry",
        /// The compaction, by a summary that is empty.
        EmptySummary = "the compaction",
        /// The compaction, by a summary that saves nothing.
        LongSummary = "the compaction",
        /// The compaction, where there is nothing that a summary could stand for.
        NothingToCompact = "the compaction",
        /// The compaction of a range.
        CompactRange = "the compaction",
        /// The compaction of a session that is written without end.
        CompactBusy = "the compaction",
        /// A window of more than can be judged.
        GuardWindow = "judging the window",
        /// A second overflow, or a context that can't be made small enough.
        Recover = "recovering the session",
        /// Marks of entries that would not last.
        MarkEntries = "marking the entries",
        /// Forgetting it.
        Forget = "forgetting it",
        /// Forgetting what copies were placed of.
        ForgetWithCopies = "forgetting it",
        /// A context.
        Materialize = "a context",
        /// Joining the documents of a chain.
        JoinDocuments = "joining the documents of a chain",
        /// Placing a session for a folder whose name is no text.
        PlaceFolder = "placing the session",
        /// Placing a session whose format no client loads.
        PlaceFormat = "placing the session",
        /// Placing a session for a client that nobody knows.
        PlaceClient = "placing the session",
        /// Placing what the client would not take.
        PlaceInvalid = "placing the session",
        /// Placing a session outside the client's home.
        PlaceOutside = "placing the session",
        /// Placing a session where a file is already.
        PlaceTaken = "placing the session",
        /// Placing a session that finds no free id.
        PlaceUnnamed = "placing the session",
        /// Removing what was scrubbed.
        RemoveScrubbed = "removing what was scrubbed",
        /// Scrubbing a session.
        ScrubSession = "scrubbing a session",
        /// A translation.
        Translate = "a translation",
    }
}

words! {
    /// What a format is needed for.
    FormatUse {
        /// Reading it.
        Read = "read",
        /// Writing it.
        Write = "written",
        /// Writing a compaction in it.
        Compact = "compacted",
    }
}
