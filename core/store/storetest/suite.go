package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Backend opens stores of one kind of database.
type Backend struct {
	// Open returns an open, empty store that no other test uses. It registers
	// its own clean-up; closing the store twice must be harmless.
	Open func(t *testing.T) *store.DB
	// Reopen closes db and opens the same data again, as a restart does.
	Reopen func(t *testing.T, db *store.DB) *store.DB
}

// Run runs the suite. Each part gets a store of its own.
func Run(t *testing.T, b Backend) {
	t.Helper()
	parts := []struct {
		name string
		test func(*suite)
	}{
		{"Sessions", testSessions},
		{"SessionLists", testSessionLists},
		{"SessionArchive", testSessionArchive},
		{"Ownership", testOwnership},
		{"Nodes", testNodes},
		{"Settings", testSettings},
		{"Instance", testInstance},
		{"Migrate", testMigrate},
		{"Inbox", testInbox},
		{"InboxHeld", testInboxHeld},
		{"InboxCompletions", testInboxCompletions},
		{"InboxClear", testInboxClear},
		{"Dedupe", testDedupe},
		{"Cursor", testCursor},
		{"FirstNotice", testFirstNotice},
		{"Turns", testTurns},
		{"Checkpoint", testCheckpoint},
		{"TurnSurvivesRestart", testTurnSurvivesRestart},
		{"Steps", testSteps},
		{"Transcript", testTranscript},
		{"TranscriptOfTurns", testTranscriptOfTurns},
		{"TranscriptOfForks", testTranscriptOfForks},
		{"TranscriptOfForksIsFixed", testTranscriptOfForksIsFixed},
		{"TranscriptModel", testTranscriptModel},
		{"TranscriptReplaced", testTranscriptReplaced},
		{"TranscriptInPages", testTranscriptInPages},
		{"TranscriptOfLargeRows", testTranscriptOfLargeRows},
		{"TranscriptSaid", testTranscriptSaid},
		{"LastAsked", testLastAsked},
		{"ResetGeneration", testResetGeneration},
		{"Seen", testSeen},
		{"SeenModel", testSeenModel},
		{"Waits", testWaits},
		{"Intents", testIntents},
		{"Timers", testTimers},
		{"Runs", testRuns},
		{"Sends", testSends},
		{"Tellings", testTellings},
		{"Reissues", testReissues},
		{"ChainEvents", testChainEvents},
		{"Closings", testClosings},
		{"Restores", testRestores},
		{"Descendants", testDescendants},
		{"RunLists", testRunLists},
		{"Children", testChildren},
		{"RunEnds", testRunEnds},
		{"RunDelivery", testRunDelivery},
		{"RunResumes", testRunResumes},
		{"RunMoves", testRunMoves},
		{"DeadRun", testDeadRun},
		{"Ledger", testLedger},
		{"Bindings", testBindings},
		{"BindingPlaces", testBindingPlaces},
		{"BindingLists", testBindingLists},
		{"BindingBusy", testBindingBusy},
		{"Outbox", testOutbox},
		{"Previews", testPreviews},
		{"OutboxOnce", testOutboxOnce},
		{"OutboxStates", testOutboxStates},
		{"OutboxParts", testOutboxParts},
		{"Usage", testUsage},
		{"Spend", testSpend},
		{"RequestOf", testRequestOf},
		{"RequestOfRuns", testRequestOfRuns},
		{"RetentionOfSpend", testRetentionOfSpend},
		{"Media", testMedia},
		{"SpawnKeys", testSpawnKeys},
		{"SessionGroup", testSessionGroup},
		{"Withheld", testWithheld},
		{"Worktrees", testWorktrees},
		{"Attachments", testAttachments},
		{"IntentAgain", testIntentAgain},
		{"Retention", testRetention},
		{"RetentionOfSessions", testRetentionOfSessions},
		{"RetentionOfTurns", testRetentionOfTurns},
		{"RetentionOfTranscripts", testRetentionOfTranscripts},
		{"Pace", testPace},
		{"Talk", testTalk},
		{"TurnsOf", testTurnsOf},
		{"Alerts", testAlerts},
		{"Troubles", testTroubles},
		{"Erasure", testErasure},
		{"Load", testLoad},
		{"UnitIsWhole", testUnitIsWhole},
		{"UnitMayRead", testUnitMayRead},
		{"ReadMayNotWrite", testReadMayNotWrite},
		{"ReadIsASnapshot", testReadIsASnapshot},
		{"GroupCommit", testGroupCommit},
		{"OnCommitOrder", testOnCommitOrder},
		{"ContextEnded", testContextEnded},
		{"Ran", testRan},
		{"Close", testClose},
		{"CloseRace", testCloseRace},
		{"Durable", testDurable},
		{"Bytes", testBytes},
		{"RaceDedupe", testRaceDedupe},
		{"RaceOnceKey", testRaceOnceKey},
		{"RacePlace", testRacePlace},
		{"RaceOrdinals", testRaceOrdinals},
		{"RaceFence", testRaceFence},
		{"RaceRelease", testRaceRelease},
		{"RacePace", testRacePace},
		{"RaceTalk", testRaceTalk},
		{"RaceSpend", testRaceSpend},
	}
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			p.test(&suite{T: t, backend: b, db: b.Open(t)})
		})
	}
}

// suite is one part at work.
type suite struct {
	*testing.T
	backend Backend
	db      *store.DB
	made    int // sessions made so far
}

// write runs a unit that must commit.
func (s *suite) write(fn func(tx *store.Tx) error) {
	s.Helper()
	require.NoError(s, s.db.Write(s.Context(), fn))
}

// reopen restarts the store.
func (s *suite) reopen() { s.db = s.backend.Reopen(s.T, s.db) }

// do runs a unit that must commit and returns what it gave.
func do[V any](s *suite, fn func(tx *store.Tx) (V, error)) V {
	s.Helper()
	var v V
	s.write(func(tx *store.Tx) (err error) {
		v, err = fn(tx)
		return err
	})
	return v
}

// get reads.
func get[V any](s *suite, fn func(tx *store.Tx) (V, error)) V {
	s.Helper()
	var v V
	require.NoError(s, s.db.Read(s.Context(), func(tx *store.Tx) (err error) {
		v, err = fn(tx)
		return err
	}))
	return v
}

// missing checks that a look-up finds nothing.
func missing[V any](s *suite, fn func(tx *store.Tx) (V, error)) {
	s.Helper()
	err := s.db.Read(s.Context(), func(tx *store.Tx) error {
		_, err := fn(tx)
		return err
	})
	require.ErrorIs(s, err, store.ErrNotFound)
}

// found is the answer of look-ups that say whether there is one.
type found[V any] struct {
	v  V
	ok bool
}

// lookup reads with a look-up that says whether there is one.
func lookup[V any](s *suite, fn func(tx *store.Tx) (V, bool, error)) (V, bool) {
	s.Helper()
	f := get(s, func(tx *store.Tx) (found[V], error) {
		v, ok, err := fn(tx)
		return found[V]{v, ok}, err
	})
	return f.v, f.ok
}

// session makes a session.
func (s *suite) session() store.Session {
	s.Helper()
	s.made++
	return do(s, func(tx *store.Tx) (store.Session, error) {
		return tx.InsertSession(store.Session{
			Key: fmt.Sprintf("agent:main:console:direct:p%d", s.made), Agent: "main", Kind: core.SessionDirect, CreatedAt: 1, UsedAt: 1,
		})
	})
}

// sessionNow reads a session again.
func (s *suite) sessionNow(id int64) store.Session {
	s.Helper()
	return get(s, func(tx *store.Tx) (store.Session, error) { return tx.SessionByID(id) })
}

// address is a place in the general conversation of a test channel.
func address(thread string) core.Address {
	return core.Address{Channel: "discord", Account: "default", Conversation: "C/general:1", Thread: thread, Parent: "Parent 1"}
}

// unitError is the failure of a unit that is meant to fail.
type unitError struct{ name string }

// Error returns the unit's name.
func (e unitError) Error() string { return "unit " + e.name + " failed" }

// background is for units that outlive a test's context on purpose.
func background() context.Context { return context.Background() }
