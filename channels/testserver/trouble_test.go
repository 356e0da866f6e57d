package testserver_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFaults(t *testing.T) {
	var f testserver.Faults
	_, ok := f.Take("send")
	require.False(t, ok)
	f.Set(testserver.Fault{Method: "send", Kind: testserver.FaultFail, Status: 500, Times: 2})
	f.Set(testserver.Fault{Method: "sendMessage", Kind: testserver.FaultOKLost})
	f.Set(testserver.Fault{Method: "edit", Kind: testserver.FaultSlow, After: time.Second})
	require.True(t, f.Has("edit"))
	var kinds []testserver.FaultKind
	for {
		fault, ok := f.Take("sendMessage", "send")
		if !ok {
			break
		}
		kinds = append(kinds, fault.Kind)
	}
	require.Equal(t, []testserver.FaultKind{testserver.FaultFail, testserver.FaultFail, testserver.FaultOKLost}, kinds)
	fault, ok := f.Take("edit")
	require.True(t, ok)
	require.Equal(t, time.Second, fault.After)
	require.False(t, f.Has("edit"))
}

func TestRender(t *testing.T) {
	tests := []struct {
		text           string
		buttons, files []string
		want           string
	}{
		{"hi", nil, nil, "hi"},
		{"", nil, []string{"a.pdf"}, "[a.pdf]"},
		{"pick", []string{"Yes", "No"}, nil, "pick\n[Yes] [No]"},
		{"pick", []string{"Yes"}, []string{"a.pdf"}, "pick\n[Yes] [a.pdf]"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, testserver.Render(tt.text, tt.buttons, tt.files))
	}
}

// counter prints what a tracker counts.
type counter struct{ n int }

func (c *counter) Begin(name string) (done func()) {
	c.n++
	fmt.Println("begin", name, c.n)
	return func() {
		c.n--
		fmt.Println("end", name, c.n)
	}
}

func (c *counter) Park() (unpark func()) { return func() {} }

// A server tells its tracker when a poll arrives and when updates come and go.
func ExampleTracker() {
	pending := 0
	tracker := testserver.NewTracker("demo", new(counter), func(string) int { return pending })
	tracker.PollBegins("default")

	pending = 1
	tracker.Changed("default") // a person wrote
	pending = 0
	tracker.PollBegins("default") // the next poll acknowledged it

	pending = 1
	tracker.Changed("default")
	tracker.Down() // the runtime was killed
	// Output:
	// begin demo updates of default 1
	// end demo updates of default 0
	// begin demo updates of default 1
	// end demo updates of default 0
}
