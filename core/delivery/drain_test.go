package delivery

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

func TestDrainWaitsForWhatIsDue(t *testing.T) {
	r := start(t, true, nil)
	r.s.Drain(t.Context()) // of nothing
	gate := make(chan struct{})
	r.platform.setScript(func(core.Outgoing, int) fault {
		<-gate
		return fault{}
	})
	r.write(message("1"), message("2"))
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		r.s.Drain(t.Context())
	}()
	select {
	case <-drained:
		require.Fail(t, "two messages are due")
	case gate <- struct{}{}:
	}
	close(gate)
	<-drained
	require.Equal(t, []string{"1", "2"}, r.platform.texts())
}

func TestDrainDoesNotWaitForRetries(t *testing.T) {
	r := start(t, true, nil)
	r.platform.setScript(always(fault{class: core.SendRetryable}))
	r.post(message("1"))
	r.s.Drain(t.Context())
	require.Equal(t, 1, r.status().Retrying)
}

func TestDrainEnds(t *testing.T) {
	for name, end := range map[string]func(r *rig, cancel func()){
		"with its context": func(_ *rig, cancel func()) { cancel() },
		"with the world":   func(r *rig, _ func()) { r.world.Cut() },
		"with the service": func(r *rig, _ func()) { r.s.Stop(cancelled()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, true, nil)
			r.platform.setScript(always(fault{slow: time.Hour}))
			r.post(message("1"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				r.s.Drain(ctx)
			}()
			end(r, cancel)
			<-drained
			r.platform.setScript(nil)
			r.s.Stop(cancelled())
		})
	}
}

// TestDrainOfAnAccountThatIsAnothers: a worker that may not even read its rows
// holds nobody up.
func TestDrainOfAnAccountThatIsAnothers(t *testing.T) {
	r := start(t, true, func(o *Options) {
		o.Guard = func(*store.Tx, string, string) error { return store.ErrNodeLost }
	})
	r.post(message("1"))
	r.s.Drain(t.Context())
	require.Empty(t, r.platform.texts())
}
