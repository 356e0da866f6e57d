package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/convtest"
	"github.com/skein-bot/skein/core/world"
)

// The simplest conversation passes every crash point of a message's path, and
// a crash there is no matter to the person. `start` waits for the crash and
// fails where there is none.
func TestAPlainAnswerPassesTheCrashPointsOfItsPath(t *testing.T) {
	for _, point := range []string{
		world.IntakeBeforeCommit, world.IntakeAfterCommit, world.TurnClaimed, world.ModelAfterCall, world.StepAfterCommit,
		world.TurnBeforeEnd, world.TurnAfterEnd, world.OutboxBeforeSend, world.OutboxAfterSend, world.OutboxAfterReceipt,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "crash.txtar")
			require.NoError(t, os.WriteFile(name, []byte("# "+point+`
crash `+point+`
alice @ console/main: hello
start
console/main < /ok: hello/
console/main < nothing
`), 0o600))
			convtest.File(t, name)
		})
	}
}

// So does a spawn, with and without a thread, those of the tool that starts it.
func TestASpawnPassesTheCrashPointsOfItsPath(t *testing.T) {
	for _, c := range []struct{ thread, point string }{
		{"true", world.ToolStarted}, {"true", world.SpawnAfterReserve}, {"true", world.SpawnAfterOpen}, {"true", world.SpawnAfterCommit},
		{"true", world.ToolAfterCall}, {"true", world.CompletionBeforeClaim},
		{"false", world.ToolStarted}, {"false", world.SpawnAfterCommit}, {"false", world.ToolAfterCall}, {"false", world.CompletionBeforeClaim},
	} {
		t.Run(c.point+"/"+c.thread, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "crash.txtar")
			require.NoError(t, os.WriteFile(name, []byte(`# `+c.point+`
crash `+c.point+`
alice @ console/main: research cats
start
console/main < /on it/
console/main < /summary of cats/
console/main < nothing
-- model.json5 --
{ rules: [
  { when: { user: "/^research (\\w+)$/" }, call: [
    { tool: "sessions_spawn", args: { task: "Study $1", label: "$1", thread: `+c.thread+`, context: "isolated" } },
    { tool: "sessions_yield", args: { acknowledgment: "on it" } } ] },
  { when: { user: "/Study cats/" }, delay: "3s", say: "Cats sleep." },
  { when: { event: "/task \"(\\w+)\" ended ok/" }, say: "summary of $1" },
] }
`), 0o600))
			convtest.File(t, name)
		})
	}
}
