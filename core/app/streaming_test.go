package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/convtest"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	. "github.com/skein-bot/skein/core/model/modeltest" //nolint:revive // reads as a script of answers
	"github.com/skein-bot/skein/core/world"
)

// A streamed answer crashes in its middle, at every point that it passes there,
// and is there once all the same: what stood before the crash became it.
func TestAStreamedAnswerPassesTheCrashPointsOfItsPath(t *testing.T) {
	for _, point := range []string{
		world.ModelAfterCall, world.StepAfterCommit, world.TurnBeforeEnd, world.TurnAfterEnd,
		world.OutboxBeforeSend, world.OutboxAfterSend, world.OutboxAfterReceipt,
	} {
		for _, after := range []string{"0s", "2500ms", "5500ms"} {
			t.Run(point+"/"+after, func(t *testing.T) {
				t.Parallel()
				play(t, fmt.Sprintf(`alice @ console/main: go
advance %s
crash %s
start
console/main < /^One two three four five six seven eight nine ten eleven twelve\.$/
console/main < nothing
sent! console delete /./
`, after, point), `say: "One two three four five six seven eight nine ten eleven twelve.", pace: "1s"`)
			})
		}
	}
}

// The stream breaks off in its middle; the second try replaces what was shown
// of the first one.
func TestARetryGoesOnWithWhatWasShown(t *testing.T) {
	t.Parallel()
	play(t, `alice @ console/main: go
console/main < /^One two three four five six seven eight nine ten eleven twelve\.$/
console/main < nothing
sent console edit /One two/
model calls 2
sent! console delete /./
race-kill off the model is asked once more after a kill
`, `say: "One two three four five six seven eight nine ten eleven twelve.", pace: "1s", fail: "drop"`)
}

// What a model showed of its answer is on the platform, but no receipt comes
// until long after another model has answered: it goes all the same.
func TestWhatAFailedModelShowedGoesHoweverLateItsReceipt(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		f := fault{answers: func(s *scene) []Answer {
			return []Answer{Pinging(clock.Real{}, s.waiting, Text("half an"))}
		}}
		s, _ := f.scene(t, OpenAI, `"x/b"`)
		unheard := 0
		s.sent = func(ctx context.Context, out core.Outgoing) error {
			if !out.Draft || unheard == 10 {
				return nil
			}
			unheard++
			return s.clock.Sleep(ctx, time.Hour) // its deadline comes first
		}
		s.say("team", "hello")
		want := []string{"from b"}
		if stopped {
			require.Equal(t, []string{"half"}, s.told("team"))
			s.say("team", "/stop")
			want = []string{"The answer in progress is stopped."}
		}
		s.pass(time.Hour)
		require.Equal(t, want, s.told("team"))
		require.Equal(t, 10, unheard)
		s.stop()
	}
}

// An answer that comes at once, and one that nobody wants to see grow, are sent
// once and never edited.
func TestAnswersThatAreSentWhole(t *testing.T) {
	t.Parallel()
	play(t, `alice @ console/main: go
console/main < /^One two three\.$/
sent! console edit /./
`, `say: "One two three.", delay: "20s"`)
	play(t, `config off.json5
alice @ console/main: go
console/main < /^One two three four five six seven eight nine ten eleven twelve\.$/
sent! console edit /./
-- off.json5 --
{ channels: { console: { streaming: false } } }
`, `say: "One two three four five six seven eight nine ten eleven twelve.", pace: "1s"`)
}

// play plays a script whose model answers "go" by a rule.
func play(t *testing.T, script, rule string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "script.txtar")
	model := "-- model.json5 --\n{ rules: [ { when: { user: \"/^go$/\" }, " + rule + " } ] }\n"
	require.NoError(t, os.WriteFile(name, []byte(script+model), 0o600))
	convtest.File(t, name)
}
