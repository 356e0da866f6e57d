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
