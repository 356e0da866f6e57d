package consoletest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/channeltest"
	"github.com/skein-bot/skein/channels/console"
	"github.com/skein-bot/skein/channels/console/consoletest"
	"github.com/skein-bot/skein/core"
)

// brokenEnv names the bug with which this test binary runs the suite.
const brokenEnv = "CONSOLETEST_BROKEN"

// broken is an adapter with a bug.
type broken struct {
	core.Adapter
	bug string
	n   atomic.Int64
}

func (b *broken) Send(ctx context.Context, out core.Outgoing) (core.Receipt, error) {
	if b.bug == "drops the key" {
		out.Key = ""
	}
	receipt, err := b.Adapter.Send(ctx, out)
	if err != nil && b.bug == "does not classify" {
		err = errors.New("it failed")
	}
	return receipt, err
}

func (b *broken) Fetch(ctx context.Context, from core.Address, f core.Attachment) (io.ReadCloser, error) {
	content, err := b.Adapter.(core.Fetcher).Fetch(ctx, from, f)
	if err == nil && b.bug == "cuts files" {
		return io.NopCloser(io.LimitReader(content, 1)), nil
	}
	return content, err
}

func (b *broken) Replace(ctx context.Context, id string, with core.Outgoing) error {
	if b.bug == "edits nothing" {
		return nil
	}
	return b.Adapter.(core.Streamer).Replace(ctx, id, with)
}

func (b *broken) Delete(ctx context.Context, to core.Address, id string) error {
	return b.Adapter.(core.Deleter).Delete(ctx, to, id)
}

func (b *broken) Run(ctx context.Context, in core.Intake) error {
	if b.bug == "leaks" {
		forever := make(chan struct{})
		go func() { <-forever }()
	}
	return b.Adapter.Run(ctx, brokenIntake{in, b})
}

// brokenIntake stands between an adapter with a bug and intake.
type brokenIntake struct {
	core.Intake
	*broken
}

func (i brokenIntake) Receive(ctx context.Context, m core.Message) error {
	switch i.bug {
	case "makes up ids":
		m.ID = fmt.Sprint(i.n.Add(1))
	case "forgets the cursor":
		m.Cursor = core.Cursor{}
	}
	err := i.Intake.Receive(ctx, m)
	if i.bug == "acknowledges early" {
		return nil
	}
	return err
}

// TestSuiteCatches runs the suite on adapters with a bug, each in a process of
// its own, and expects it to fail: a suite that passes everything proves
// nothing.
func TestSuiteCatches(t *testing.T) {
	for bug, part := range map[string]string{
		"acknowledges early": "IntakeBeforeAcknowledged",
		"makes up ids":       "SameUpdateFourTimes",
		"forgets the cursor": "Normalised",
		"drops the key":      "SendAnswerLost",
		"does not classify":  "SendFailures",
		"leaks":              "StopAndStartAgain",
		"cuts files":         "Files",
		"edits nothing":      "Preview",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			self := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$/^"+part+"$")
			self.Env = append(os.Environ(), brokenEnv+"="+bug)
			out, err := self.CombinedOutput()
			exit := new(exec.ExitError)
			require.ErrorAs(t, err, &exit, "%s", out)
			require.Contains(t, string(out), "--- FAIL: TestBroken/"+part)
		})
	}
}

// TestBroken is what TestSuiteCatches runs; without a bug it is the suite.
func TestBroken(t *testing.T) {
	entry := console.Entry(nil)
	channeltest.Run(t, channeltest.Factory{
		Entry: channels.Entry{Name: entry.Name, New: func(o channels.Options) (core.Adapter, error) {
			adapter, err := entry.New(o)
			return &broken{Adapter: adapter, bug: os.Getenv(brokenEnv)}, err
		}},
		Server: consoletest.Start,
	})
}
