package threadbind

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/skein-bot/skein/core"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// t0 is when the bindings of the tests were made.
const t0 core.Millis = 1_700_000_000_000

// hours is a limit or a distance in hours.
func hours(n float64) time.Duration { return time.Duration(n * float64(time.Hour)) }

// ownLimit is a limit set on a record.
func ownLimit(d time.Duration) *int64 {
	ms := toMillis(d)
	return &ms
}

func threadAddress(thread string) core.Address {
	return core.Address{Channel: "fake", Account: "default", Conversation: "Team", Thread: thread}
}

// activeBinding is a binding in a thread, made at t0 and quiet since.
func activeBinding() core.Binding {
	return core.Binding{
		ID: "b1", Address: threadAddress("T1"), Session: 7, SessionKey: "agent:main:subagent:x", Target: core.TargetSubagent,
		Agent: "main", Label: "cats", Owner: "fake:alice", Placement: core.PlacementChild,
		BoundAt: t0, LastActivity: t0, Status: core.BindingActive,
	}
}
