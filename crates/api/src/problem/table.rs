//! The one table of problems: code, kind, title and hint. Exit codes, HTTP statuses and the page of errors come from it.
//!
//! Which error of the engine has which code is `service`'s. A hint may hold `{name}`: the problem fills it from
//! what it is about.

use super::Kind;

/// What the table says of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The stable name.
    pub code: &'static str,
    /// What kind of problem it is.
    pub kind: Kind,
    /// The code in words.
    pub title: &'static str,
    /// The next step, where one is known.
    pub hint: Option<&'static str>,
}

/// Declares the codes: variant, name, kind, title and, where there is one, the hint.
macro_rules! codes {
    ($($variant:ident $code:literal $kind:ident $title:literal $(=> $hint:expr)?;)+) => {
        /// Every problem there is. Codes may be added; none changes its name or its kind.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $( #[doc = concat!("`", $code, "`: ", $title, ".")] $variant, )+
        }

        impl Code {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns what the table says of it.
            pub const fn row(self) -> Row {
                match self {
                    $( Self::$variant => Row { code: $code, kind: Kind::$kind, title: $title, hint: codes!(@hint $($hint)?) }, )+
                }
            }
        }
    };
    (@hint) => { None };
    (@hint $hint:expr) => { Some($hint) };
}

const AGAIN: &str = "run the command again: it continues where the other one stopped";
const LIST: &str = "`stemma list` shows all sessions, `stemma log REF` the commits of one";
const LIST_SESSIONS: &str = "`stemma list` shows all sessions";
const LEDGERS: &str = "`stemma ledger list` lists all ledgers";
const MIGHT_BE_DAMAGED: &str = "`stemma verify` lists everything that is damaged; importing the same transcripts into a new \
     `STEMMATA_HOME` gives the same commits";
const REPAIR: &str = "`stemma verify --repair --from BACKUP` repairs a store from a sound copy";
const RESTORE: &str = "`stemma restore BACKUP` puts a backup in the place of the store; without one, move the folder `store` of the \
     data directory away, and `stemma import` reads all transcripts again";
const GONE_ON_PURPOSE: &str = "it was forgotten on purpose; `stemma show REF` says what is left of a commit";
const BAD_RULE: &str =
    "repair the rule; until then only the fact that a session exists is stored, none of its content";
const NOTHING_STORED: &str = "nothing was stored";
const FETCH_AGAIN: &str = "fetch or export it again; nothing was stored";
const FREE_SPACE: &str = "free some space and run the command again: it continues where it stopped, and nothing acknowledged is lost";
const MENDED_OR_MOVED: &str =
    "nothing is captured until it can be read: repair {path}, or move it away to capture everything";

codes! {
    // Requests
    BadRequest "bad_request" Usage "the request cannot be understood"
        => "`stemma COMMAND --help` shows what a command takes";
    TaskCycle "task_cycle" BadInput "tasks depend on each other in a circle" => "list in `depends_on` only tasks that must be done before this one";
    RequestTaken "request_taken" Refused "the call's `request` cannot be used"
        => "give each call a `request` of its own, of 1 to 256 bytes, and the same one when it is repeated";
    EntryTaken "entry_taken" Refused "the session has another entry with this id"
        => "give each entry an `id` of its own; the same id is for repeating a request that may have failed";
    SessionForgotten "session_forgotten" Refused "the session was forgotten"
        => "`stemma turn begin` begins it again, or another one";
    SessionNotBegun "session_not_begun" Refused "nobody has begun a turn of this session"
        => "`stemma turn begin` begins one, and its answer names the session";
    BadPlace "bad_place" Usage "not a place in a file" => "name it as `FILE`, `FILE:LINE` or `FILE:FROM-TO`";
    BadName "bad_name" BadInput "not a name" => "use a short name of letters, digits and `-`";
    BadId "bad_id" BadInput "not an id" => "copy it from `stemma list` or `stemma log REF`";
    BadTime "bad_time" BadInput "not a time"
        => "use a time such as `2026-11-21T20:20:08Z` or how long ago: `30m`, `2h`, `3d`";
    BadJson "bad_json" BadInput "not JSON"
        => "correct the text at the line and column that are named; `jq . FILE` checks a whole file";
    BudgetTooSmall "budget_too_small" Usage "the budget is too small to say anything"
        => "give a larger budget";
    NotSupported "not_supported" Refused "this store cannot do this"
        => "run it with the `stemma` of the machine that keeps the store";
    NoRoute "no_route" NotFound "the service has no such address"
        => "docs/reference/http.md lists what there is";
    ForeignHost "foreign_host" Forbidden "the request is not for this machine"
        => "ask for `127.0.0.1` or `localhost`: pages of other machines are not answered";
    Overloaded "overloaded" Locked "the service has too much to do"
        => "ask again in a moment: nothing of the request was done";
    ServiceUnreachable "service_unreachable" System "the service does not answer"
        => "`stemma serve` starts it; `--server` and `STEMMATA_SERVER` say where it is asked";
    ServiceRuns "service_runs" Locked "a service runs already"
        => "ask that one, or give this one another `--socket`";
    NotListening "not_listening" System "the service cannot be reached where it should be"
        => "give another `--socket`, in a folder that only you can open, or another `--listen`";
    Internal "internal" System "an error in the program itself"
        => "the log of the service has more; please report it";
    Cancelled "cancelled" Cancelled "cancelled"
        => "run the command again to do it; what was stored until then is kept";
    PlanStale "plan_stale" Conflict "the plan is out of date" => "run the command again: the store has changed since the plan was made";
    ChangedMeanwhile "changed_meanwhile" Conflict "it changed while the command ran" => "run the command again";

    // Files
    FileNotFound "file_not_found" NotFound "the file does not exist" => "check the path";
    PermissionDenied "permission_denied" System "access was denied" => "check who may read and write that file";
    DiskFull "disk_full" Full "the disk is full" => FREE_SPACE;
    IoFailed "io_failed" System "a file operation failed"
        => "check that its folder and disk can be read and written, then run the command again";
    FileExists "file_exists" Refused "the file exists" => "name another file, or use `--force` where the command has it";
    NotADirectory "not_a_directory" Usage "not a directory"
        => "name a directory";
    TooLarge "too_large" Refused "too large to read"
        => "nothing was changed, and the bound cannot be raised: use a smaller file, folder or session";

    // Transcripts
    NotATranscript "not_a_transcript" BadInput "not a transcript of a known client"
        => "docs/reference/runtimes.md lists which files of each client are read";
    UnknownSchema "unknown_schema" Incompatible "sessions are of a version that is not read"
        => "docs/reference/runtimes.md lists the versions that are read; a newer version of Stemmata may read more";
    LineTooLong "line_too_long" BadInput "a line is too long"
        => "nothing of this line was stored; everything before it was";
    DocumentTooLong "document_too_long" BadInput "the transcript is too long for its format"
        => "nothing of it was stored; split it, or export a part of it";
    DocumentTorn "document_torn" BadInput "the transcript ends in the middle"
        => "its client may be writing it: import it again; `stemma doctor FILE` says where it breaks";
    TranscriptDamaged "transcript_damaged" Corrupt "the compressed transcript is damaged"
        => "what was read of it before stays: `stemma recover SESSION` gives that back; `zstd -dc FILE` writes what can be unpacked";
    DatabaseBusy "database_busy" Locked "the client's database is locked"
        => "if it stays locked, close the client that uses it";
    FileShrank "file_shrank" Conflict "the file became shorter while it was read"
        => "run the import again: it reads the file from where the two agree";
    TranscriptNotFound "transcript_not_found" NotFound "no such file or session" => LIST_SESSIONS;
    TranscriptGone "transcript_gone" NotFound "the transcript of this session is gone"
        => "`stemma recover {ctx}` gives it back to its client, `stemma resume {ctx}` continues it";
    SessionNotInDatabase "session_not_in_database" NotFound "the client's database has no such session"
        => "`stemma list` shows the sessions that were imported";
    NotRecoverable "not_recoverable" Refused "the transcript cannot be recovered"
        => "`stemma resume REF` places what the store has as a new session";
    SessionOpen "session_open" Refused "a client has the session open" => "end the client, then run the command again";
    SessionMaybeOpen "session_maybe_open" Refused "this system does not say whether a client has the session open"
        => "without `--replace` the recovered transcript goes beside the damaged one";
    NotRepairable "not_repairable" Refused "the transcript cannot be repaired"
        => "`stemma recover SESSION` looks for an intact state of the session in the store";
    PlanOutside "plan_outside" Corrupt "a plan names bytes outside of the stored ones"
        => "`stemma verify` says whether the store is sound";

    // References
    CommitNotFound "commit_not_found" NotFound "no such commit" => LIST;
    ReferenceNotFound "reference_not_found" NotFound "no such commit, session or tag" => LIST;
    PromptNotFound "prompt_not_found" NotFound "the chain has no such prompt" => "`stemma show SESSION` lists its prompts with their numbers";
    PromptRange "prompt_range" Usage "a range of prompts cannot be used here"
        => "`stemma show` and `stemma export` take a range; `{of}:{from}` is the state before prompt {from}";
    SessionEmpty "session_empty" NotFound "the session has no commit" => "`stemma list --all` shows empty sessions too";
    SessionNotFound "session_not_found" NotFound "no such session" => LIST_SESSIONS;
    QueryEmpty "query_empty" Usage "there is nothing to search for"
        => "give words (`stemma search WORDS`) or a filter such as `--kind decision`; on a terminal, `stemma search` searches as you type";
    QueryTooLong "query_too_long" Usage "the query is too long"
        => "search for fewer words";
    RegexBad "regex_bad" Usage "the regular expression cannot be read" => "`--literal` searches for the text as it is, including characters such as `(` and `*`";
    FilterUnknown "filter_unknown" Usage "a filter names something unknown" => "`--{filter}` takes one of {known}";
    RangeEmpty "range_empty" Usage "nothing can be between these times" => "give an earlier `--since` or a later `--until`";
    ProjectNotFound "project_not_found" NotFound "no such project" => "give `--project` the last part of one of these directories, or a whole directory";
    ProjectAmbiguous "project_ambiguous" Ambiguous "the name could mean several projects" => "give `--project` one of these directories";
    EntryNotFound "entry_not_found" NotFound "the chain has no such entry"
        => "`stemma show REF --entries` lists the entries of a commit with their ids";
    LineNotFound "line_not_found" NotFound "the file has no such line"
        => "name a line that the file has, or leave the line out for the whole file";
    NoSessionHere "no_session_here" NotFound "no session worked here"
        => "`stemma list` shows all sessions; `resume` and `handoff` take the latest of all with `--last`";
    NoSession "no_session" NotFound "there is no session yet"
        => "`stemma import` reads the sessions of this machine, `stemma import PATH` any other";
    NoCheckpointBefore "no_checkpoint_before" NotFound "no checkpoint is that old"
        => "`stemma log` shows what there is and from when";
    NoCompaction "no_compaction" NotFound "nothing on this chain was compacted"
        => "`stemma tree {ctx}` shows where compactions are (◆)";
    NotAnAncestor "not_an_ancestor" NotFound "not an ancestor of the commit"
        => "`stemma history {ctx}` lists the ancestors of a commit";
    Ambiguous "ambiguous" Ambiguous "the name could mean several things" => "give more characters, or one of these ids";

    // Pointers and the service's own state
    PointerNotFound "pointer_not_found" NotFound "no such pointer" => "`stemma pointer list` shows all pointers";
    PointerMoved "pointer_moved" Conflict "the pointer does not point to what was expected"
        => "read it again, and expect what it points to now; nothing was changed";
    TooMany "too_many" Refused "there are as many as there may be"
        => "delete some that nobody needs; nothing was changed";
    LeaseLost "lease_lost" Conflict "another process took the job over" => "nothing is to be done: that process does it";
    StateDamaged "state_damaged" Corrupt "the service's own state cannot be read"
        => "move the folder `state` of the data directory away to start again: pointers, jobs, tokens and the audit log are in it, and no content";
    StateFailed "state_failed" System "the service's own state cannot be used"
        => "check the folder `state` of the data directory, then run the command again";
    AuditNotWritten "audit_not_written" System "it was done, and the audit log does not say so"
        => "do not repeat it; free some space, and see `stemma audit`";

    // Giving back
    FormatUnreadable "format_unreadable" BadInput "this version cannot read the format"
        => "`stemma native REF` returns the bytes of any format";
    FormatUnwritable "format_unwritable" BadInput "this version cannot write the format"
        => "leave `--format` out to keep the stored one";
    NothingTranslates "nothing_translates" Refused "nothing of it can be translated"
        => "`stemma export REF` writes it as text; without `--in` its own client continues it";
    NotJoinable "not_joinable" Refused "the chain's contents cannot be joined"
        => "`stemma show REF --entries` shows what each commit holds";
    ForkBeforeFirst "fork_before_first" Refused "there is nothing before the first entry"
        => "name a later entry: `stemma show REF --entries` lists them";
    SummaryEmpty "summary_empty" Refused "the summary is empty"
        => "write a summary, or let `stemma compact REF` make one";
    SummaryTooLong "summary_too_long" BadInput "the summary is too long"
        => "shorten it";
    SummaryNotSmaller "summary_not_smaller" Refused "the compaction would not be smaller"
        => "ask for a smaller summary (`--ratio 0.05`), keep less as it is (`--keep 5000`), or write a shorter one";
    NothingToUndo "nothing_to_undo" Refused "there is nothing to undo"
        => "`stemma undo` removes the copy that `resume` or `fork` placed last; `stemma recover` and `stemma forget --undo` take back other things";
    CopyNotRemoved "copy_not_removed" Refused "the copy was not removed"
        => "nothing was changed; end the client that has it open, or delete the session with it";
    NothingToCompact "nothing_to_compact" Refused "there is nothing to compact"
        => "nothing was stored; `stemma guard REF` says how full the window is";
    RangeNotCompactable "range_not_compactable" Refused "the range cannot be compacted"
        => "`stemma show REF --entries` lists the entries with their numbers";
    NoModel "no_model" Usage "no model can be asked"
        => "`stemma config set llm.provider anthropic` (or `openai`) and `llm.model NAME` say which; the key comes from the environment";
    SessionBusy "session_busy" Conflict "the session is being written" => "run the command again when the turn has ended";

    // Placing and clients
    NoFreeSessionId "no_free_session_id" Refused "no free session id was found"
        => "run the command again";
    CwdNotText "cwd_not_text" Refused "the directory's name is not UTF-8"
        => "use `--cwd DIR` for another directory";
    NoClientLoads "no_client_loads" Refused "no client loads this format" => "name a client with `--in`";
    UnknownClient "unknown_client" Usage "unknown client"
        => "`stemma status` lists the clients of this machine";
    NotLoadable "not_loadable" Refused "the client would not load the result"
        => "`stemma recover SESSION` looks for an intact state of the session in the store";
    OutsideTheHome "outside_the_home" Refused "the place is outside of the client's home"
        => "`--cwd DIR` continues in another directory, `--in CLIENT` in another client";
    PlaceTaken "place_taken" Refused "a file is there already"
        => "move that file away, then run the command again";
    SessionTaken "session_taken" Refused "the session continues something else"
        => "use another session, or leave the context out";
    ClientMissing "client_missing" NotFound "the client is not installed"
        => "`--print` writes the session and prints the command to run elsewhere; `--in CLIENT` continues in another client";
    DirectoryGone "directory_gone" NotFound "the session's directory is gone"
        => "use `--here` for the current directory, or `--cwd DIR` for another one";
    ClientNotStarted "client_not_started" NotFound "the client could not be started"
        => "the session is placed; where the client is installed, run `{command}`";
    CommandNotStarted "command_not_started" NotFound "the command could not be started"
        => "check its name, and that it is installed";
    NoHome "no_home" System "no home directory is known" => "set `{variable}` to a directory of yours";
    ProgramUnnamable "program_unnamable" Usage "the path of `stemma` cannot be written into the settings"
        => "install `stemma` in a directory whose path is plain text, and run the command again";
    SettingsUnreadable "settings_unreadable" Usage "the client's settings cannot be read"
        => "correct that file, then run the command again; nothing was changed";
    GitNoRepository "git_no_repository" Refused "no git repository"
        => "run it inside a git repository";
    GitSharedHooks "git_shared_hooks" Refused "the hooks of this repository are shared with others"
        => "`git config --local core.hooksPath .git/hooks` gives this repository hooks of its own";
    GitHookNotOurs "git_hook_not_ours" Refused "the hook cannot be changed safely"
        => "nothing was changed; call `stemma` from the hook yourself, or move the hook away and run the command again";

    // Capture
    Excluded "excluded" Refused "excluded from capture"
        => "`stemma exclude list` shows what is excluded, `stemma exclude remove PATH` allows it again";
    Paused "paused" Refused "capture is paused" => "`stemma unpause` resumes capture";
    ExclusionsUnreadable "exclusions_unreadable" Refused "the exclusions cannot be read"
        => "nothing is captured until they can be read: repair the file, or move it away to capture everything";
    NotExcluded "not_excluded" Usage "it is not excluded" => "`stemma exclude list` shows what is excluded";
    QuotaReached "quota_reached" Full "the store has reached its quota" => "{plan}";
    SecretRulesBad "secret_rules_bad" Refused "a rule for secrets cannot be used" => BAD_RULE;
    SecretRuleFailed "secret_rule_failed" Refused "a rule for secrets failed" => BAD_RULE;
    NoProjectRules "no_project_rules" NotFound "the folder has no rules for secrets"
        => "a project's rules are in `.stemmata/secrets.toml`: write them first, or name the folder of a project that has \
            some; `stemma status` names those that nobody trusts";
    RulesNotTrusted "rules_not_trusted" Refused "the rules cannot be trusted"
        => "read the file, make it your own (`sudo chown $USER FILE`), and run the command again";
    SecretInSyntax "secret_in_syntax" Refused "a secret cannot be replaced without breaking the JSON"
        => "nothing of it was stored: replace the secret in it yourself, then run the command again";

    // Forgetting and collecting
    NothingForgotten "nothing_forgotten" NotFound "nothing of that name was forgotten"
        => "give the whole id of the session or the path of its transcript: the store keeps only their hashes";
    CopiesPlaced "copies_placed" Refused "copies of it were placed that nobody continued"
        => "`stemma forget --copies` shows them and removes them, files and all; then forget it. `--everywhere` forgets what they hold \
            with it, and leaves their files to you";
    Protected "protected" Refused "it is protected by a pin or a tag"
        => "`stemma forget … --even-pinned` forgets protected commits too";
    NoEventWithText "no_event_with_text" NotFound "no such event has a payload left"
        => "`stemma events query --topic SESSION_STARTED` lists the sessions that the ledger knows, `stemma events query` shows its events; `--ledger` chooses another ledger";
    OnlyATranscript "only_a_transcript" NotFound "the session was captured from a transcript and has no events of its own"
        => "`stemma forget {session}` forgets the transcript; `stemma events query --topic SESSION_STARTED` lists the \
            sessions that the ledger knows";
    PartlyForgotten "partly_forgotten" System "not everything could be forgotten"
        => "remove the obstacle and run the command again";
    NotCleaned "not_cleaned" Locked "the forgotten bytes are still on the disk"
        => "forget it again when nothing else reads the store; the next `stemma` that opens it alone finishes it, too";

    // Ledgers
    NoLedgerHere "no_ledger_here" NotFound "this directory has no ledger"
        => "`--project DIR|NAME` takes another project, `stemma list` shows where sessions worked; `stemma decision add` and \
            `stemma task add` begin a memory here";
    LedgerNotFound "ledger_not_found" NotFound "no such ledger" => LEDGERS;
    LedgerIsAProject "ledger_is_a_project" Refused "the ledger is a project's"
        => "give the cluster another id";
    LedgerHasEvents "ledger_has_events" Refused "the ledger has events already"
        => "give the cluster another id; `stemma ledger list` lists those that are taken";
    LedgerNotInFiles "ledger_not_in_files" Usage "the ledger is not kept in files" => REPAIR;
    FolderNotAdoptable "folder_not_adoptable" Refused "the folder cannot belong to this ledger"
        => "give the whole path of the project's folder, such as `/home/ann/shop`; `--yes` adopts one that holds more than a project";
    FolderNotAdopted "folder_not_adopted" NotFound "the project did not adopt this folder"
        => "`stemma ledger adopt --list` lists the folders that it did adopt";
    ProjectUnnamed "project_unnamed" Refused "the project could not be given an id"
        => "make its folder writable, then run the command again";
    MarkTaken "mark_taken" Conflict "another ledger has this alias"
        => "`stemma ledger list` lists the projects and where they are";
    CursorBeyondEnd "cursor_beyond_end" Refused "the cursor is beyond the last event"
        => "`stemma events tail` shows the newest events with their numbers";
    CursorUnnamed "cursor_unnamed" Usage "the cursor has no name"
        => "give the cursor a name";
    SequenceMoved "sequence_moved" Conflict "the ledger has other events than expected"
        => "`stemma events tail` shows its events; `--expect` takes the number of the last one";
    EpochMoved "epoch_moved" Conflict "events were forgotten meanwhile"
        => "run the command again: it rebuilds the state without what was forgotten";
    DecisionNotFound "decision_not_found" NotFound "no such decision" => "`stemma decision list` lists the decisions";
    DecisionAmbiguous "decision_ambiguous" Ambiguous "the name could mean several decisions" => "give its number, or more of its words";
    TaskNotFound "task_not_found" NotFound "no such open task" => "`stemma task list` lists the open tasks";
    TaskAmbiguous "task_ambiguous" Ambiguous "the name could mean several tasks" => "give its name, or more of its words";
    ThreadNotFound "thread_not_found" NotFound "no such open thread" => "`stemma decision list` lists the open threads";
    ThreadAmbiguous "thread_ambiguous" Ambiguous "the name could mean several threads" => "give its number, or more of its words";
    StrategyBad "strategy_bad" BadInput "the strategy cannot be used" => "`stemma strategy check FILE` says everything that is wrong with it";
    StrategyNotFound "strategy_not_found" NotFound "no such strategy" => "`stemma strategy list` lists the built-in ones";
    ContextNotKept "context_not_kept" NotFound "no prompt of the session was kept"
        => "`stemma turn begin` with a prompt keeps it, and `forget` and `scrub` drop the kept prompts of all sessions; \
            `stemma context debug --strategy NAME` makes one and explains it";
    ProfileBad "profile_bad" BadInput "the profile cannot be used"
        => "a profile is TOML or JSON with a `role`, such as `role = \"worker\"`";
    ModelUnknown "model_unknown" Usage "unknown model: its token counter is not known"
        => "`--counter` names what counts without a model: estimate, utf16, o200k, cl100k, or one of them with a factor, as \
            `o200k*1.18`; docs/reference/models.md lists the models";
    ContextOverflow "context_overflow" Refused "the context does not fit the window" => "unpin or shorten what is largest, or use a model with a larger window";
    WindowBad "window_bad" BadInput "the limits of the window cannot be used"
        => "`stemma config explain window --window N` shows the limits of a window of N tokens, in the order in which they act";
    LogClosed "log_closed" System "the ledger was closed" => "run the command again";
    LedgerDamaged "ledger_damaged" Corrupt "the ledger is damaged"
        => "`stemma restore` says what is wrong with the ledger, `stemma restore --repair` sets damaged lines aside; for \
            another project add `--ledger ID`: its folder has that name";

    // The store
    CommitMissing "commit_missing" NotFound "the commit is not in the store"
        => "`stemma list` shows all sessions, `stemma verify` whether something is missing";
    ContentMissing "content_missing" NotFound "the content is not in the store"
        => "`stemma list` shows all sessions, `stemma verify` whether something is missing";
    ParentMissing "parent_missing" BadInput "the parent is not in the store"
        => "store the parent first";
    CommitForgotten "commit_forgotten" BadInput "the commit was forgotten" => GONE_ON_PURPOSE;
    CheckpointFileBad "checkpoint_file_bad" BadInput "not a checkpoint file that can be read" => NOTHING_STORED;
    CheckpointTooLarge "checkpoint_too_large" Refused "the conversation is too large for a checkpoint file"
        => "`stemma bundle export REF` holds one of any size; `stemma compact REF` makes a smaller one, which a checkpoint file may hold";
    NotText "not_text" Refused "the content is not text" => "`stemma native REF --out FILE` writes the bytes of a commit as they are";
    ContentForgotten "content_forgotten" NotFound "the content was forgotten" => GONE_ON_PURPOSE;
    CommitConflict "commit_conflict" BadInput "another commit has this id" => MIGHT_BE_DAMAGED;
    ContentCorrupt "content_corrupt" Corrupt "stored bytes are damaged" => MIGHT_BE_DAMAGED;
    ReadElsewhere "read_elsewhere" Conflict "another process read the same transcript" => AGAIN;
    OutOfBounds "out_of_bounds" BadInput "a value is out of its bounds" => "use {bound} at most";
    Empty "empty" BadInput "a value is empty" => "nothing was stored; leave it out, or give it a value";
    StoreLocked "store_locked" Locked "another process holds the store"
        => "wait until the other `stemma` is done, and run the command again";
    StoreInUse "store_in_use" Locked "the store is in use"
        => "end what runs there, a `stemma watch` for example, and run the command again; nothing was changed";
    StoreAway "store_away" Locked "another process has the store for itself"
        => "ask again in a moment: `restore`, `migrate` or `forget` runs and needs the store alone";
    NoRoom "no_room" Full "not enough free space for what was asked"
        => "free some space there, or name a folder on another disk; nothing was changed";
    StoreReadOnly "store_read_only" System "the store cannot be written"
        => "check who owns the data directory; `stemma status` says where it is";
    StoreTooOld "store_too_old" Incompatible "the store is older than this version reads"
        => RESTORE;
    StoreTooNew "store_too_new" Incompatible "the store was written by a newer version"
        => "update `stemma`; the store was not touched";
    StoreNeedsMigration "store_needs_migration" Incompatible "the store was written by an older version"
        => "`stemma migrate --dry-run` shows what is needed; `stemma migrate` makes a backup and brings the store up to date";
    StoreOnNetwork "store_on_network" Refused "the store is on a network file system"
        => "set `STEMMATA_HOME` to a folder on a disk of this machine; where nothing else ever opens this store, \
            `STEMMATA_ALLOW_NETWORK_STORE=1` allows it";
    NotAStore "not_a_store" Incompatible "not a store"
        => "name the folder of a backup or of another store";
    StoreDamaged "store_damaged" Corrupt "the store is damaged"
        => "if it is a backup, name another one; `stemma verify --repair --from BACKUP` repairs a store from a sound copy";
    DatabaseDamaged "database_damaged" Corrupt "the database of the store is damaged" => RESTORE;
    DatabaseFailed "database_failed" System "the database failed"
        => "run the command again; if that does not help, `stemma verify` says whether the store is sound";
    NotOnDisk "not_on_disk" Refused "the store is not on a disk"
        => "use a store on a disk";
    PackedAlready "packed_already" Refused "the store is being packed already"
        => "wait until that is done";
    StoreRefused "store_refused" Refused "the store's files cannot be changed in this way"
        => "nothing was changed; remove the obstacle that is named, or name another folder or file";
    NoCopyThere "no_copy_there" Usage "no copy of a store is there"
        => "name the folder of a backup or of another store, or a bundle";

    // Bundles
    NotABundle "not_a_bundle" BadInput "not a bundle"
        => "`stemma bundle export` writes bundles, `stemma import FILE` imports transcripts";
    BundleTooNew "bundle_too_new" Incompatible "the bundle was written by a newer version"
        => "update `stemma`; nothing was stored";
    BundleCut "bundle_cut" Corrupt "the bundle is incomplete" => FETCH_AGAIN;
    BundleDamaged "bundle_damaged" Corrupt "the bundle is damaged" => FETCH_AGAIN;
    BundleNeedsMore "bundle_needs_more" NotFound "the bundle needs commits that are not here"
        => "export it without `--have`, or with what `stemma bundle have --all` says here; nothing was stored";
    BundleTooLarge "bundle_too_large" BadInput "the bundle is larger than allowed" => NOTHING_STORED;
    BundleAboveLimit "bundle_above_limit" BadInput "the bundle is above a limit that can be raised"
        => "nothing was stored; if you trust where the bundle comes from, raise the limit with `{flag}` (at least {value})";
    HaveListBad "have_list_bad" BadInput "not a list of commits"
        => "`stemma bundle have` on the receiving machine writes such a list";

    // Settings
    MachineFileBad "machine_file_bad" System "the machine's identity cannot be read"
        => "restore it from a backup; or move {path} away, and a new identity is made (stored commits stay as they are)";
    PolicyFileBad "policy_file_bad" System "the file of exclusions and pauses cannot be read" => MENDED_OR_MOVED;
    PolicyBad "policy_bad" Usage "the exclusion or pause makes no sense"
        => "`stemma exclude --help` and `stemma pause --help` show what they take";
    ConfigBad "config_bad" System "the configuration cannot be used"
        => "correct the file that is named above, or move it away";
}
