package channeltest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/skein-bot/skein/channels"
	"github.com/skein-bot/skein/channels/testserver"
	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
)

// Factory says how to make what the suite tests.
type Factory struct {
	Entry  channels.Entry
	Server testserver.New
	// Failures maps the statuses with which the platform refuses a send to the
	// class each means. nil means those of HTTP.
	Failures map[int]core.SendClass
}

// httpFailures is the usual meaning of statuses.
func httpFailures() map[int]core.SendClass {
	return map[int]core.SendClass{
		http.StatusBadRequest:            core.SendInvalid,
		http.StatusUnauthorized:          core.SendAuth,
		http.StatusForbidden:             core.SendForbidden,
		http.StatusNotFound:              core.SendGone,
		http.StatusConflict:              core.SendConflict,
		http.StatusRequestEntityTooLarge: core.SendTooLarge,
		http.StatusLocked:                core.SendClosed,
		http.StatusInternalServerError:   core.SendRetryable,
		http.StatusBadGateway:            core.SendRetryable,
	}
}

// Run runs the contract suite, or only the named parts of it. Parts that need
// an ability the adapter does not have, pass.
func Run(t *testing.T, f Factory, only ...string) {
	t.Helper()
	if f.Failures == nil {
		f.Failures = httpFailures()
	}
	suite := []struct {
		name string
		test func(*rig)
	}{
		{"Describe", testDescribe},
		{"IntakeInOrder", testIntakeInOrder},
		{"IntakeBeforeAcknowledged", testIntakeBeforeAcknowledged},
		{"CursorResumes", testCursorResumes},
		{"SameUpdateFourTimes", testSameUpdateFourTimes},
		{"PollFailures", testPollFailures},
		{"StopAndStartAgain", testStopAndStartAgain},
		{"OwnMessages", testOwnMessages},
		{"Normalised", testNormalised},
		{"EventsOfMessages", testEventsOfMessages},
		{"Files", testFiles},
		{"SendFailures", testSendFailures},
		{"SendRetryAfter", testSendRetryAfter},
		{"SendAnswerLost", testSendAnswerLost},
		{"SendInOrder", testSendInOrder},
		{"SendConcurrently", testSendConcurrently},
		{"TextLimit", testTextLimit},
		{"LostAnchor", testLostAnchor},
		{"SendAfterCancel", testSendAfterCancel},
		{"Probe", testProbe},
		{"EditAndDelete", testEditAndDelete},
		{"Preview", testPreview},
		{"History", testHistory},
		{"Threads", testThreads},
		{"ThreadStates", testThreadStates},
		{"PlaceEvents", testPlaceEvents},
		{"Permission", testPermission},
		{"Migration", testMigration},
	}
	ran := 0
	for _, part := range suite {
		if len(only) > 0 && !slices.Contains(only, part.name) {
			continue
		}
		ran++
		t.Run(part.name, func(t *testing.T) { part.test(newRig(t, f)) })
	}
	require.True(t, ran == len(suite) || ran == len(only), "unknown part among %v", only)
}

// rig is an adapter on its test server.
type rig struct {
	*testing.T
	factory Factory
	server  testserver.Server
	client  *http.Client
	inbox   *Inbox
	adapter core.Adapter
	stop    func() // stops Run, if it runs
}

// newRig starts a server and makes an adapter, which does not run yet. When the
// test ends nothing of it may be left.
func newRig(t *testing.T, f Factory) *rig {
	t.Helper()
	before := goleak.IgnoreCurrent()
	server, err := f.Server(testserver.Options{Clock: clock.Real{}})
	require.NoError(t, err)
	transport := &http.Transport{}
	r := &rig{T: t, factory: f, server: server, client: &http.Client{Transport: transport}, inbox: new(Inbox), stop: func() {}}
	r.adapter = r.open()
	t.Cleanup(func() {
		r.stop()
		require.NoError(t, channels.Close(r.adapter))
		transport.CloseIdleConnections()
		require.NoError(t, server.Close())
		goleak.VerifyNone(t, before)
	})
	return r
}

// open makes an adapter of the default account.
func (r *rig) open() core.Adapter {
	r.Helper()
	settings, err := json.Marshal(r.server.Config("default"))
	require.NoError(r, err)
	adapter, err := r.factory.Entry.New(channels.Options{
		Account: "default", Settings: settings, Clock: clock.Real{}, HTTP: r.client,
		Log: slog.New(slog.DiscardHandler), StateDir: r.TempDir(),
	})
	require.NoError(r, err)
	return adapter
}

// restart replaces the adapter by a new one, as a new process would.
func (r *rig) restart() {
	r.Helper()
	r.stop()
	require.NoError(r, channels.Close(r.adapter))
	r.adapter = r.open()
	r.start()
}

// start runs the adapter as the account's supervisor does: again after every
// failure, except those that a person must mend.
func (r *rig) start() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			class, _ := core.ClassifySend(r.adapter.Run(ctx, r.inbox))
			if class == core.SendAuth || class == core.SendConflict {
				return
			}
			_ = clock.Real{}.Sleep(ctx, time.Millisecond)
		}
	})
	r.stop = func() {
		cancel()
		running.Wait()
		r.stop = func() {}
	}
}

// group and direct are the places of the suite.
func group() testserver.Place  { return testserver.Place{Conversation: "team"} }
func direct() testserver.Place { return testserver.Place{Conversation: "dm:alice"} }

func alice() testserver.User { return testserver.User{Name: "alice"} }

// say posts as alice.
func (r *rig) say(at testserver.Place, text string) testserver.Ref {
	r.Helper()
	ref, err := r.server.Post(r.Context(), testserver.Post{By: alice(), At: at, Text: text})
	require.NoError(r, err)
	return ref
}

// meet makes a place known to the platform before an adapter writes there.
func (r *rig) meet(at testserver.Place) core.Address {
	r.Helper()
	r.say(at, "hello")
	return r.server.Address(at)
}

// send sends text with a key of the same name.
func (r *rig) send(to core.Address, text string) (core.Receipt, error) {
	return r.adapter.Send(r.Context(), core.Outgoing{Address: to, Text: text, Key: "key " + text})
}

// mustSend sends and returns the platform's id.
func (r *rig) mustSend(to core.Address, text string) string {
	r.Helper()
	receipt, err := r.send(to, text)
	require.NoError(r, err)
	require.NotEmpty(r, receipt.ID)
	return receipt.ID
}

// own returns the texts of the account's messages at a place.
func (r *rig) own(at testserver.Place) []string {
	var texts []string
	for _, m := range r.server.Messages(at) {
		if m.Own {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// requireClass fails unless err is a *core.SendError of that class.
func (r *rig) requireClass(want core.SendClass, err error, about ...any) {
	r.Helper()
	require.Error(r, err, about...)
	sendErr := new(core.SendError)
	require.ErrorAs(r, err, &sendErr, about...)
	require.Equal(r, want, sendErr.Class, about...)
}

// texts returns the texts of messages.
func texts(messages []core.Message) []string {
	var list []string
	for _, m := range messages {
		list = append(list, m.Text)
	}
	return list
}

// where returns the messages of one conversation.
func where(messages []core.Message, at core.Address) []core.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m core.Message) bool {
		return m.Address.Conversation != at.Conversation
	})
}
